import { createReadStream, createWriteStream, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Command, Option } from 'commander'
import type { WholeLog } from '../audit/archive/whole-log.ts'
import { auditFilterErrors, type GivenFilter, toAuditFilter, toShownFilter } from '../audit/audit-filter.ts'
import { checkProof, type ProofResult } from '../audit/check-proof.ts'
import { exportRows } from '../audit/export.ts'
import { EXTRACT_FORMATS, type ExtractFormat } from '../audit/extract/extract-format.ts'
import { type ExtractResult, listExtractFacts, verifyExtract } from '../audit/extract/verify-extract.ts'
import { type ExtractOptions, writeExtract } from '../audit/extract/write-extract.ts'
import { prove } from '../audit/prove.ts'
import { toVisible } from '../audit/verify/fault.ts'
import type { Store } from '../context/store.ts'
import { KINDS, type Kind, toBlindIndexText } from '../crypto/mac.ts'
import { UserError } from '../errors.ts'
import { readKeyNames } from '../keys/key-names.ts'
import { OutputError, print, say, strong, warn } from '../server/terminal.ts'
import {
  ARCHIVE_NOTE,
  ARCHIVE_OPTION,
  findPublicKey,
  readInputFile,
  readReference,
  toSigner,
  warnAboutArchives,
  withWholeLog,
} from './audit-options.ts'
import { type CommandContext, EXISTING, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES, NUMBER_NOTE } from './help.ts'
import { DATE_NOTE, readSince, readUntil } from './options.ts'
import { requireOutput, writeError } from './output-path.ts'
import { readNumber } from './prompt.ts'

type FilterOptions = Omit<GivenFilter, 'person' | 'consent_reference'> & { consent?: string; person?: Kind }
type Extraction = { format?: ExtractFormat | undefined; rows?: true | undefined }
type ExportOptions = FilterOptions & Extraction & { archive?: string[]; out?: string; force?: true }

export function addAuditExportCommand(audit: Command): void {
  const command = audit
    .command('export')
    .description(
      'write every row as NDJSON; or what fits a filter, as a signed file that can be verified alone',
    )
    .addOption(new Option('--format <format>', 'a signed extract, as ndjson or csv').choices(EXTRACT_FORMATS))
    .option('--reference <reference>', 'the verification with this request_reference', readReference)
    .option('--key <key>', 'verifications of a key: its id or its name')
    .option('--outcome <outcome>', 'such as verified or not_verified; none: no outcome is recorded')
    .option('--operation <operation>', 'verify_nin or verify_bvn')
    .option('--source <source>', 'a source that was called or skipped, such as registry or dojah')
    .option('--consent <reference>', 'the X-Consent-Reference of the caller')
    .option('--purpose <word>', 'the X-Purpose of the caller, such as loan')
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

async function runExport(options: ExportOptions): Promise<void> {
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
    const keyNames = await readKeyNames(context.store.keys)
    requireKnown(filter, keyNames)
    const detail = isExtract ? toDetail(filter) : null
    await audit.record([{ phase: 'audit_exported', outcome: 'ok', subject: subject ?? null, detail }])
    await withWholeLog(context, archive, async (log) => {
      const open = () => openExtract(context, log, { filter, keyNames, format, rows, onEnd: warnIfEmpty })
      await writeOut(isExtract ? open() : exportRows(log.store.audit), out, force)
      warnAboutArchives(log)
    })
  }, EXISTING)
}

function warnIfEmpty(rows: number): void {
  if (rows === 0) warn('The extract has no rows: nothing in the log fits the filter.')
}

function requireKnown(given: GivenFilter, keyNames: ReadonlyMap<string, string>): void {
  const [problem] = Object.values(auditFilterErrors(given, keyNames)).flat()
  if (problem === undefined) return
  const where = problem.startsWith('key ') ? 'tabbat keys list' : 'docs/audit-format.md'
  throw new UserError(`--${problem}. See: ${where}`)
}

/** For the audit log. The values may name a person or a customer. */
const toDetail = (filter: GivenFilter) =>
  `extract filtered by: ${Object.keys(toShownFilter(filter)).join(', ') || 'nothing'}`

type Wanted = Extraction & Pick<ExtractOptions, 'keyNames' | 'onEnd'> & { readonly filter: GivenFilter }

function openExtract(
  { signer, auditLog, isDemo }: CommandContext,
  { store, archived, missing }: WholeLog<Store>,
  { filter, keyNames, format = 'ndjson', rows, onEnd }: Wanted,
): AsyncIterable<string> {
  return writeExtract(
    {
      store,
      archived,
      missingArchives: missing.length,
      signer,
      isDemo,
      signNow: () => auditLog.checkpoint(),
    },
    {
      view: rows ? 'rows' : 'verifications',
      format,
      filter: toAuditFilter(filter, keyNames),
      shownFilter: toShownFilter(filter),
      keyNames,
      onEnd,
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
    throw error.syscall === undefined ? error : writeError(out, error)
  })
  say(`The export is in ${out}.`)
}

/** A reader may close the pipe early (`| head`): that is no failure. */
async function writeToOutput(input: Readable): Promise<void> {
  await pipeline(input, process.stdout, { end: false }).catch((error) => {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (code !== 'EPIPE') throw syscall === 'write' ? new OutputError(error) : error
  })
}

type VerifyExtractOptions = { publicKey?: string; json?: true }

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

async function runVerifyExtract(
  file: string,
  { publicKey: path, json }: VerifyExtractOptions,
): Promise<void> {
  const { publicKey, database } = await findPublicKey(path)
  const result = await verifyExtract(createReadStream(file), publicKey).catch(
    (error: NodeJS.ErrnoException) => {
      throw error.syscall === undefined ? error : new UserError(`${file} cannot be read.`)
    },
  )
  if (!result.sound) process.exitCode = 1
  if (json) return say(JSON.stringify({ ...result, ...(database && { database }) }))
  if (!result.sound) return say(strong(toFaultText(result)))
  say(strong(`The extract is good: it is as it was signed.${result.rows === 0 ? ' It has NO rows.' : ''}`))
  for (const line of listExtractFacts(result)) say(toVisible(line))
}

const toFaultText = ({ line, reason }: Extract<ExtractResult, { sound: false }>) =>
  `The extract is NOT good: ${line === null ? '' : `line ${line}, `}${reason}.`

export function addAuditProofCommands(audit: Command): void {
  addPublicKeyCommand(audit)
  addProveCommand(audit)
  addCheckProofCommand(audit)
}

function addPublicKeyCommand(audit: Command): void {
  const command = audit
    .command('public-key')
    .description('print the public key that checks checkpoints and proofs (PEM)')
    .action(() => withStore(async ({ keyring }) => say(toSigner(keyring).publicKey.trimEnd())))
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'audit public-key': 'print the key',
      'audit public-key > key.pem': 'write it to a file, to give to others',
    },
  })
}

function addProveCommand(audit: Command): void {
  const command = audit
    .command('prove')
    .description('write a proof that the outcome of a verification is in the audit log')
    .argument('<reference>', 'its request_reference', readReference)
    .option(...ARCHIVE_OPTION)
    .option('--out <file>', 'file to write (default: standard output)')
    .action(runProve)
  addHelp(command, {
    details: `Anyone with the proof and the public key can check it without this server: tabbat audit check-proof FILE. The proof names no person: the number is in it as a keyed hash. That it was made is recorded in the audit log. docs/audit-format.md describes the format.\n\n${ARCHIVE_NOTE}`,
    usesDatabase: true,
    settings: ['TABBAT_CHECKPOINT_DIR', 'TABBAT_AUDIT_ARCHIVE_DIR'],
    exitCodes: EXIT_CODES,
    examples: {
      'audit prove ver_01k8s2m4q0v6x8z2b4d6f8h0j2k4m6n8p0r2': 'print the proof',
      'audit prove ver_01k8s2m4q0v6x8z2b4d6f8h0j2k4m6n8p0r2 --out proof.json': 'write it to a file',
    },
  })
}

function addCheckProofCommand(audit: Command): void {
  const command = audit
    .command('check-proof')
    .description('check a proof, offline')
    .argument('<file>', 'file that "tabbat audit prove" wrote')
    .option('--public-key <file>', 'public key of the log (default: the key of the database)')
    .option('--json', 'print a JSON object')
    .action(runCheckProof)
  addHelp(command, {
    details: 'With --public-key, no database is opened.',
    usesDatabase: true,
    exitCodes: { 0: 'the proof is good', 1: 'the proof is not good, or it could not be checked' },
    examples: {
      'audit check-proof proof.json --public-key key.pem': 'check a proof without a database',
      'audit check-proof proof.json --json': 'check it with the key of the database',
    },
  })
}

function runProve(reference: string, { archive, out }: { archive?: string[]; out?: string }): Promise<void> {
  if (out !== undefined) requireOutput(out, true)
  return withCommandContext(async (context) => {
    const { signer, config, audit } = context
    const checkpointDir = config.checkpointDir ?? config.dataDir
    const text = await withWholeLog(context, archive, ({ store, archived }) =>
      prove({ store, archived, signer, checkpointDir }, reference),
    )
    await audit.record([{ phase: 'audit_proved', outcome: 'ok', detail: `reference ${reference}` }])
    if (out === undefined) return print(text)
    try {
      writeFileSync(out, text)
    } catch (error) {
      throw writeError(out, error)
    }
    say(`The proof is in ${out}.`)
  }, EXISTING)
}

type CheckOptions = { publicKey?: string; json?: true }

async function runCheckProof(file: string, options: CheckOptions): Promise<void> {
  const bytes = readInputFile(file)
  const { publicKey, database } = await findPublicKey(options.publicKey)
  const result = checkProof(bytes, publicKey)
  if (!result.sound) process.exitCode = 1
  if (options.json) return say(JSON.stringify({ ...result, ...(database && { database }) }))
  if (!result.sound) return say(strong(`The proof is NOT good: ${result.reason}.`))
  say(strong('The proof is good.'))
  for (const line of toProofLines(result)) say(line)
}

const toProofLines = ({ row, released, signedAt }: Extract<ProofResult, { sound: true }>): string[] => [
  `On ${signedAt}, the owner of the key signed that this row is in the audit log (chain ${row.chain}, row ${row.sequence}):`,
  ...[
    ['started', row.started_at ?? null],
    ['time', row.time],
    ['reference', row.request_reference],
    ['operation', row.operation],
    ['mode', row.mode],
    ['outcome', row.outcome ?? `none recorded (${row.phase})`],
    ['key id', row.key_id],
    ['subject', row.subject],
    ['consent', row.consent_reference],
    ['released', released],
  ]
    .filter(([, value]) => value !== null)
    .map(([name = '', value]) => `  ${name?.padEnd(10)} ${value}`),
]
