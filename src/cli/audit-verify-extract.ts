import { createReadStream } from 'node:fs'
import type { Command } from 'commander'
import { toVisible } from '../audit/fault-text.ts'
import { type ExtractResult, verifyExtract } from '../audit/verify-extract.ts'
import { UserError } from '../errors.ts'
import { say, strong } from '../server/terminal.ts'
import { findPublicKey } from './audit-key.ts'
import { addHelp } from './help.ts'

type Options = { publicKey?: string; json?: true }

export function addVerifyExtractCommand(audit: Command): void {
  const command = audit
    .command('verify-extract')
    .description('check an extract of the audit log, offline')
    .argument('<file>', 'file that "tabbat audit export" wrote with a filter or --format')
    .option('--public-key <file>', 'public key of the log (default: the key of the database)')
    .option('--json', 'print a JSON object')
    .action(runVerifyExtract)
  addHelp(command, {
    details:
      'With --public-key, no database is opened. It finds every change of the file: a row that was changed, added, removed or moved. It cannot show that the log had no other rows that fit the filter: that is the word of the server that signed the file. docs/audit-format.md describes the format.',
    usesDatabase: true,
    exitCodes: { 0: 'the extract is good', 1: 'the extract is not good, or it could not be checked' },
    examples: {
      'audit verify-extract extract.csv --public-key key.pem': 'check an extract without a database',
      'audit verify-extract extract.ndjson --json': 'check it with the key of the database',
    },
  })
}

async function runVerifyExtract(file: string, { publicKey: path, json }: Options): Promise<void> {
  const { publicKey, database } = await findPublicKey(path)
  const result = await verifyExtract(createReadStream(file), publicKey).catch(
    (error: NodeJS.ErrnoException) => {
      throw error.syscall === undefined ? error : new UserError(`${file} cannot be read.`)
    },
  )
  if (!result.sound) process.exitCode = 1
  if (json) return say(JSON.stringify({ ...result, ...(database && { database }) }))
  if (!result.sound) return say(strong(toFaultText(result)))
  say(strong('The extract is good: it is as it was signed.'))
  for (const line of toLines(result)) say(line)
}

const toFaultText = ({ line, reason }: Extract<ExtractResult, { sound: false }>) =>
  `The extract is NOT good: ${line === null ? '' : `line ${line}, `}${reason}.`

function toLines({ about, rows, unproved, checkpoints }: Extract<ExtractResult, { sound: true }>): string[] {
  const filter = Object.entries(about.filter).map(([name, value]) => `${name} = ${value}`)
  return [
    `Made at ${about.made_at}: ${about.view === 'rows' ? 'rows' : 'all rows of the verifications'} that fit the filter.`,
    `Filter: ${filter.join(', ') || 'none'}.`,
    `Rows: ${rows}. Proved by ${checkpoints} signed checkpoints: ${rows - unproved}.`,
    ...(unproved > 0
      ? [`Covered by the signature of the file only: ${unproved}. No checkpoint covers them.`]
      : []),
    ...(about.archives > 0 ? [`Not in the extract: the rows of ${about.archives} archives of the log.`] : []),
    'Not shown by this check: that the log had no other rows that fit. The owner of the key has signed that these were all.',
  ].map(toVisible)
}
