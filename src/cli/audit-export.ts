import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command, Option } from 'commander'
import type { WholeLog } from '../audit/archive/whole-log.ts'
import { exportRows } from '../audit/export.ts'
import { EXTRACT_FORMATS, type ExtractFormat } from '../audit/extract-record.ts'
import { type GivenFilter, toAuditFilter, toShownFilter } from '../audit/given-filter.ts'
import { writeExtract } from '../audit/write-extract.ts'
import { readPersonNumber } from '../contract/virtual-nin.ts'
import { KINDS, type Kind, toBlindIndexText } from '../crypto/blind-index.ts'
import { UserError } from '../errors.ts'
import { readKeyNames } from '../keys/key-names.ts'
import { say } from '../server/terminal.ts'
import { ARCHIVE_NOTE, ARCHIVE_OPTION, warnAboutArchives, withWholeLog } from './archive-option.ts'
import { type CommandContext, EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES, NUMBER_NOTE } from './help.ts'
import { requireOutput, toWriteError } from './output-path.ts'
import { readSecret } from './prompt.ts'
import { DATE_NOTE, readSince, readUntil } from './time-option.ts'

type FilterOptions = Omit<GivenFilter, 'person' | 'consent_reference'> & { consent?: string; person?: Kind }
type Extraction = { format?: ExtractFormat | undefined; rows?: true | undefined }
type Options = FilterOptions & Extraction & { archive?: string[]; out?: string; force?: true }

export function addAuditExportCommand(audit: Command): void {
  const command = audit
    .command('export')
    .description(
      'write every row as NDJSON; or what fits a filter, as a signed file that can be verified alone',
    )
    .addOption(new Option('--format <format>', 'a signed extract, as ndjson or csv').choices(EXTRACT_FORMATS))
    .option('--reference <reference>', 'the verification with this request_reference')
    .option('--key <key>', 'verifications of a key: its id or its name')
    .option('--outcome <outcome>', 'such as verified or not_verified; none: no outcome is recorded')
    .option('--operation <operation>', 'verify_nin or verify_bvn')
    .option('--source <source>', 'a source that was called or skipped, such as registry or dojah')
    .option('--consent <reference>', 'the X-Consent-Reference of the caller')
    .option('--from <time>', 'not before this time, such as 2026-11-01 or 2026-11-01T09:30:00Z', readSince)
    .option('--to <time>', 'not after this time; with a date, up to its end', readUntil)
    .addOption(new Option('--person <kind>', 'verifications of one person').choices(KINDS))
    .option('--rows', 'each row that fits, also of administrative events, instead of whole verifications')
    .option('--phase <phase>', 'rows of this phase, such as key_created; only with --rows')
    .option(...ARCHIVE_OPTION)
    .option('--out <file>', 'file to write, which only its owner can read (default: standard output)')
    .option('--force', 'replace the file if it exists')
    .action(runExport)
  addHelp(command, {
    details: `Without a filter and --format, every row is written, chain by chain: check it with tabbat audit verify. Otherwise the file is an extract with all rows of each verification that fits, the filter, checkpoints and a signature. Check it with: tabbat audit verify-extract FILE. ${DATE_NOTE} With --person: ${NUMBER_NOTE}\n\n${ARCHIVE_NOTE} The export itself is recorded in the audit log first. docs/audit-format.md explains the columns and the format.`,
    usesDatabase: true,
    settings: ['TABBAT_CHECKPOINT_DIR', 'TABBAT_AUDIT_ARCHIVE_DIR'],
    exitCodes: EXIT_CODES,
    examples: {
      'audit export > audit.ndjson': 'write the whole log to a file',
      'audit export --format csv --key "loans app" --from 2026-11-01 --out extract.csv':
        'the verifications of one key, for a spreadsheet',
      'audit export --person nin --out person.ndjson < nin.txt': 'the verifications of one person',
    },
  })
}

async function runExport(options: Options): Promise<void> {
  const { archive, out, force, format, rows, person, consent, ...others } = options
  if (out !== undefined) requireOutput(out, force)
  if (others.phase !== undefined && !rows) throw new UserError('--phase needs --rows.')
  const given = { ...others, ...(consent !== undefined && { consent_reference: consent }) }
  const isExtract = format !== undefined || rows || person !== undefined || Object.keys(given).length > 0
  const number = person && (await readNumber(person))
  await withCommandContext(async (context) => {
    const { audit, keyring } = context
    const subject = person && toBlindIndexText(keyring.subject, person, number ?? '')
    const filter = { ...given, person: subject }
    const detail = isExtract ? toDetail(filter) : null
    await audit.record([{ phase: 'audit_exported', outcome: 'ok', subject: subject ?? null, detail }])
    await withWholeLog(context, archive, async (log) => {
      const open = () => openExtract(context, log, filter, { format, rows })
      await writeOut(isExtract ? await open() : exportRows(log.store.audit), out, force)
      warnAboutArchives(log)
    })
  }, EXISTING)
}

/** For the audit log. The values may name a person or a customer. */
const toDetail = (filter: GivenFilter) =>
  `extract filtered by: ${Object.keys(toShownFilter(filter)).join(', ') || 'nothing'}`

async function readNumber(kind: Kind): Promise<string> {
  const name = kind.toUpperCase()
  const number = readPersonNumber(kind, (await readSecret(`${name} (not shown): `)).trim())
  if (number !== undefined) return number
  throw new UserError(`A ${name} has 11 digits. Give one number, on standard input or at the prompt.`)
}

async function openExtract(
  { signer, auditLog }: CommandContext,
  { store, archived, missing }: WholeLog,
  given: GivenFilter,
  { format = 'ndjson', rows }: Extraction,
): Promise<AsyncIterable<string>> {
  const keyNames = await readKeyNames(store.keys)
  return writeExtract(
    { store, archived, missingArchives: missing.length, signer, signNow: () => auditLog.checkpoint() },
    {
      view: rows ? 'rows' : 'verifications',
      format,
      filter: toAuditFilter(given, keyNames),
      shownFilter: toShownFilter(given),
      keyNames,
    },
  )
}

async function writeOut(
  pieces: AsyncIterable<string>,
  out: string | undefined,
  force: boolean | undefined,
): Promise<void> {
  const input = Readable.from(pieces, { objectMode: false })
  if (out === undefined) return writeToOutput(input)
  // A file that is replaced would keep its mode.
  if (force) await rm(out, { force: true })
  const file: Writable = createWriteStream(out, { mode: 0o600, flags: 'wx', flush: true })
  await pipeline(input, file).catch((error: NodeJS.ErrnoException) => {
    throw error.syscall === undefined ? error : toWriteError(out, error)
  })
  say(`The export is in ${out}.`)
}

/** A reader may close the pipe early (`| head`): that is no failure. */
async function writeToOutput(input: Readable): Promise<void> {
  await pipeline(input, process.stdout, { end: false }).catch((error) => {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  })
}
