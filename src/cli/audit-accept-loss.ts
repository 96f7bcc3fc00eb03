import type { Command } from 'commander'
import { acceptLoss } from '../audit/loss-statement.ts'
import { toCommandAuthor } from '../contract/command-author.ts'
import { UserError } from '../errors.ts'
import { say, sayJson, strong, toCount } from '../server/terminal.ts'
import type { Loss } from '../store/loss-table.ts'
import { withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { requireConfirmation } from './prompt.ts'

type Options = { yes?: true; json?: true }

export function addAcceptLossCommand(audit: Command): void {
  const command = audit
    .command('accept-loss')
    .description('accept that a failover lost acknowledged audit rows, so that servers continue')
    .option('--yes', 'do not ask')
    .option('--json', 'print a JSON object with every lost reference')
    .action(runAcceptLoss)
  addHelp(command, {
    details:
      'After a failover to an asynchronous standby, PostgreSQL may lack rows that callers were answered on. The servers notice it, and refuse verifications. First look for the old primary: if its data can be recovered, nothing is lost. This command prints what is missing and writes it to the audit log as a signed statement (log_shortened). Running servers continue within two seconds. docs/production.md says under which conditions a failover loses nothing.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'audit accept-loss': 'show what is missing, and ask',
      'audit accept-loss --yes --json': 'accept it, and print the lost references',
    },
  })
}

const runAcceptLoss = ({ yes, json }: Options): Promise<void> =>
  withCommandContext(
    async ({ store, auditLog, signer, database }) => {
      const losses = await store.losses.list('open')
      if (losses.length === 0) {
        if (json) return sayJson({ database }, { accepted: [] })
        throw new UserError('No loss is known: no server has found that acknowledged rows are missing.')
      }
      if (!json) losses.forEach(report)
      await requireConfirmation('Accept that these rows are lost?', yes, 'Nothing was changed.')
      const record = auditLog.record.bind(auditLog)
      for (const loss of losses)
        await acceptLoss(loss, { losses: store.losses, signer, record, by: toCommandAuthor() })
      if (json) return sayJson({ database }, { accepted: losses })
      say(`${strong('The loss is recorded in the audit log.')} Running servers continue; start the others.`)
    },
    { mustExist: true, acceptOlder: true },
  )

const SHOWN = 10

function report({ chain, kept, acknowledged, references }: Loss): void {
  say(strong(`Chain ${chain}: ${toCount(acknowledged - kept, 'row')} missing, after row ${kept}.`))
  if (references.length === 0) say('The node that wrote them has not reported their references.')
  for (const reference of references.slice(0, SHOWN)) say(`  ${reference}`)
  if (references.length > SHOWN) say(`  and ${references.length - SHOWN} more: --json prints all`)
}
