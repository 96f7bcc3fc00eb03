import { Argument, type Command } from 'commander'
import { readReason } from '../contract/free-text.ts'
import { KINDS, type Kind } from '../crypto/mac.ts'
import { UserError } from '../errors.ts'
import { say, sayJson } from '../server/terminal.ts'
import { unlockNumber } from '../verification/guess-limit.ts'
import { EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES, NUMBER_NOTE } from './help.ts'
import { readNumber } from './prompt.ts'

type UnlockOptions = { reason: string; json?: true }

export function addUnlockCommand(program: Command): void {
  const command = program
    .command('unlock')
    .description('let a number be verified again after too many failed matches (429 too_many_attempts)')
    .addArgument(new Argument('<kind>', 'kind of number').choices(KINDS))
    .requiredOption('--reason <text>', 'why, for the audit log: 10 to 200 characters, no number of a person')
    .option('--json', 'print a JSON object')
    .action(runUnlock)
  addHelp(command, {
    details: `${NUMBER_NOTE} It forgets the failed matches of all keys for this number. It is recorded in the audit log, with the reason.`,
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'unlock nin --reason "customer changed the phone, ticket 481"': 'ask for the NIN',
      'unlock bvn --reason "wrong phone in the import" --json < bvn.txt': 'read the BVN from a file',
    },
  })
}

async function runUnlock(kind: Kind, { reason: text, json }: UnlockOptions): Promise<void> {
  const given = readReason(text)
  if ('problem' in given) throw new UserError(`The reason ${given.problem}.`)
  const number = await readNumber(kind)
  await withCommandContext(async (context) => {
    const failed = await unlockNumber(context, { kind, number, ...given })
    if (json) sayJson(context, { unlocked: failed > 0, failed_matches: failed })
    else if (failed === 0)
      say(`This ${kind.toUpperCase()} has no failed matches in the last 24 hours. Nothing was changed.`)
    else say(`This ${kind.toUpperCase()} can be verified again: failed matches forgotten: ${failed}.`)
  }, EXISTING)
}
