import type { Command } from 'commander'
import { resetSecondFactors } from '../accounts/reset-second-factors.ts'
import { say, sayJson } from '../server/terminal.ts'
import { toAccountDeps } from './admin-links.ts'
import { EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'

export function addResetFactorsCommand(admin: Command): void {
  const command = admin
    .command('reset-2fa')
    .description('delete the second factors of an account that has lost them; its sessions end')
    .argument('<name>', 'the account')
    .option('--json', 'print a JSON object')
    .action((name: string, { json }: { json?: true }) =>
      withCommandContext(async (context) => {
        const { store } = context
        await resetSecondFactors({ ...toAccountDeps(context), store }, name)
        if (json) sayJson(context, { name, reset: true })
        else say(`The second factors of ${name} are deleted. The password alone signs in now.`)
      }, EXISTING),
    )
  addHelp(command, {
    details: 'Make sure that the request comes from that person: the password alone then signs in.',
    usesDatabase: true,
    settings: ['TABBAT_TWO_FACTOR'],
    exitCodes: EXIT_CODES,
    examples: {
      'admin reset-2fa ada': 'ada can sign in with the password, and set up a new second factor',
      'admin reset-2fa ada --json': 'the same, with a JSON object as the result',
    },
  })
}
