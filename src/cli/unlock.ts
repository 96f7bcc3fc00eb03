import { Argument, type Command } from 'commander'
import { readReason } from '../contract/free-text.ts'
import { KINDS, type Kind } from '../crypto/mac.ts'
import { UserError } from '../errors.ts'
import { say, sayJson } from '../server/terminal.ts'
import { type Locked, UNRECORDED_NOTE, unlockNumber } from '../verification/guess-limit.ts'
import { readReference } from './audit-options.ts'
import { EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES, NUMBER_NOTE } from './help.ts'
import { readNumber } from './prompt.ts'

type UnlockOptions = { reason: string; reference?: string; json?: true }

export function addUnlockCommand(program: Command): void {
  const command = program
    .command('unlock')
    .description('let a number be verified again after too many failed matches (429 too_many_attempts)')
    .addArgument(new Argument('[kind]', 'kind of number; not with --reference').choices(KINDS))
    .option(
      '--reference <reference>',
      'the number of this verification, by its request_reference',
      readReference,
    )
    .requiredOption('--reason <text>', 'why, for the audit log: 10 to 200 characters, no number of a person')
    .option('--json', 'print a JSON object')
    .action(runUnlock)
  addHelp(command, {
    details: `${NUMBER_NOTE} With --reference, no number is needed. It forgets the failed matches of all keys for this number. It is recorded in the audit log, with the reason.`,
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'unlock nin --reason "customer changed the phone, ticket 481"': 'ask for the NIN',
      'unlock --reference ver_01k8s2m4q0v6x8z2b4d6f8h0j2k4m6n8p0r2 --reason "changed phone, ticket 481"':
        'the number of a verification that was refused',
      'unlock bvn --reason "wrong phone in the import" --json < bvn.txt': 'read the BVN from a file',
    },
  })
}

async function runUnlock(
  kind: Kind | undefined,
  { reason: text, reference, json }: UnlockOptions,
): Promise<void> {
  const given = readReason(text)
  if ('problem' in given) throw new UserError(`The reason ${given.problem}.`)
  if ((kind === undefined) === (reference === undefined))
    throw new UserError('Give the kind of number (nin or bvn), or --reference.')
  const locked = reference ? { reference } : await readLocked(kind ?? 'nin')
  const name = kind ? kind.toUpperCase() : 'number'
  await withCommandContext(async (context) => {
    const failed = await unlockNumber(context, locked, given.reason)
    if (failed === undefined) throw new UserError(`The reference ${UNRECORDED_NOTE}.`)
    if (json) sayJson(context, { unlocked: failed > 0, failed_matches: failed })
    else if (failed === 0)
      say(`This ${name} has no failed matches in the last 24 hours. Nothing was changed.`)
    else say(`This ${name} can be verified again: failed matches forgotten: ${failed}.`)
  }, EXISTING)
}

const readLocked = async (kind: Kind): Promise<Locked> => ({ kind, number: await readNumber(kind) })
