import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import type { BatchFormat } from '../batches/read-rows.ts'
import { type Config, loadConfig } from '../context/config.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { openStore, type Store } from '../context/store.ts'
import { toNaira } from '../contract/naira.ts'
import { KINDS, type Kind } from '../crypto/mac.ts'
import { SQLITE_FILE } from '../database/open-database.ts'
import { withFileLock } from '../database/process-lock.ts'
import { hasDatabase } from '../database/sqlite-user-error.ts'
import { UserError } from '../errors.ts'
import { findEmptyRegistry } from '../registry/empty-registry.ts'
import { say, sayJson, toCount } from '../server/terminal.ts'
import { naira } from '../settings/setting.ts'
import { readCallOrders } from '../sources/source-control.ts'
import { priceOf, toPrices } from '../sources/spend-leases.ts'
import { onSchemaWait } from './command-context.ts'
import { addHelp } from './help.ts'
import { requireOutput } from './output-path.ts'
import { createProgress } from './progress.ts'
import { confirm, isInteractive, readSecret } from './prompt.ts'
import { type CheckedFile, checkFile, toBatchFormat } from './verify-file/input-file.ts'
import { openServer } from './verify-file/open-server.ts'
import type { Counts } from './verify-file/run.ts'
import { findInterrupted, runFile } from './verify-file/run.ts'

type Options = {
  out?: string
  format?: BatchFormat
  url?: string
  plainHttp?: true
  price?: number
  dryRun?: true
  yes?: true
  force?: true
  json?: true
}

export function addVerifyFileCommand(program: Command): void {
  const command = program
    .command('verify-file')
    .description('verify all rows of a file, and write the results to another file')
    .addArgument(new Argument('<kind>', 'kind of number').choices(KINDS))
    .argument(
      '<file>',
      'CSV with a header, NDJSON or a JSON array; columns: the number, phone, amount, first_name, last_name, date_of_birth, reference, consent_reference',
    )
    .option(
      '--out <file>',
      'file for the results, CSV or .ndjson (default: the name of the file + .results.csv)',
    )
    .addOption(
      new Option('--format <format>', 'format of the file (default: by its name)').choices([
        'csv',
        'ndjson',
        'json',
      ]),
    )
    .option(
      '--url <address>',
      'server to use (default: none; the sources are asked from here, on the own database)',
    )
    .option('--plain-http', 'allow a server without https on another machine')
    .option('--price <naira>', 'price of one row, for the estimate', readPrice)
    .option('--dry-run', 'check the file and print the estimate; nothing is sent')
    .option('--yes', 'start without asking')
    .option('--force', 'replace the file of results')
    .option('--json', 'print the summary as a JSON object')
    .action(runVerifyFile)
  addHelp(command, {
    details:
      'The API key is read from TABBAT_API_KEY (or a file, see docs/batches.md), else at a prompt that does not show it, or from standard input. It is not taken from the command line, because other users of this machine can read command lines.\n\nThe file is sent as batches (docs/batches.md). Ctrl-C stops waiting for them. Run the same command again to continue: the state is in a file beside the results, without personal data.',
    usesDatabase: true,
    settings: ['TABBAT_API_KEY', 'TABBAT_BATCH_RATE', 'TABBAT_BATCH_CONCURRENCY'],
    exitCodes: {
      0: 'every row was answered: verified or not verified',
      1: 'not done; the reason is on standard error',
      2: 'some rows were refused, failed or were cancelled; the results say which',
      130: 'interrupted by Ctrl-C',
      143: 'interrupted by SIGTERM',
    },
    examples: {
      'verify-file nin customers.csv --out results.csv':
        'verify on this machine, with the configured sources',
      'verify-file bvn customers.csv --url https://tabbat.example.com --yes --json':
        'use a server, without asking',
      'verify-file nin customers.csv --dry-run': 'check the file and print what it costs',
    },
  })
}

function readPrice(text: string): number {
  try {
    return naira(text)
  } catch {
    throw new InvalidArgumentError('It must be an amount in naira such as 50 or 50.25.')
  }
}

async function runVerifyFile(kind: Kind, path: string, options: Options): Promise<void> {
  const config = loadConfig()
  const file = { path, kind, format: options.format ?? toBatchFormat(path) }
  const out = options.out ?? `${path}.results.csv`
  if (isSameFile(path, out)) throw new UserError('--out names the file to verify. Name another file.')
  if (!options.dryRun) requireOutput(out, options.force)
  const key = await readKey(config)
  const checked = await checkFile(path, kind, file.format, key)
  const { price, url } = options
  const estimate = await toEstimate(config, {
    kind,
    rows: checked.good,
    key,
    isRemote: url !== undefined,
    ...(price !== undefined && { price }),
  })
  printCheck(checked, estimate.text)
  const empty = url === undefined && !isTestKey(key) ? await findEmpty(config, kind) : undefined
  if (empty !== undefined && !options.dryRun) throw new UserError(`Nothing was sent. ${empty}`)
  if (empty !== undefined) process.stderr.write(`${empty}\n`)
  if (options.dryRun) return printDryRun(checked, estimate.kobo, options.json, config)
  const server = await openServer(config, { ...options, key })
  const interruption = listenForInterruption()
  const progress = createProgress()
  try {
    const counts = await withOutputLock(out, async () => {
      // A run that has ended meanwhile may have written it.
      requireOutput(out, options.force)
      const before = findInterrupted({ server, checked, out })
      if (before)
        process.stderr.write(`Continuing: ${before.written} of ${before.parts.length} parts are written.\n`)
      else await requireConsent(key, checked.good, options.yes)
      return runFile({ server, file, checked, out, progress, signal: interruption.signal })
    })
    progress.clear()
    printSummary(counts, { ...options, out, server: server.name })
  } catch (error) {
    progress.clear()
    const code = interruption.exitCode()
    if (code === undefined) throw error
    say(`Interrupted. Run the same command again to continue. The state is in ${out}.state.`)
    process.exitCode = code
  } finally {
    interruption.stop()
    await server.close()
  }
}

function isSameFile(first: string, second: string): boolean {
  const [one, other] = [first, second].map((path) => statSync(path, { throwIfNoEntry: false }))
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino
}

/** Two runs would write to the same partial file, and send the same rows twice. */
function withOutputLock<T>(out: string, work: () => Promise<T>): Promise<T> {
  const lock = `${out}.lock`
  const refusal = `Another run is writing ${out}. Wait until it ends, or choose another --out. This one has sent nothing.`
  return withFileLock(lock, refusal, () => work().finally(() => rmSync(lock, { force: true })))
}

/** Never from the command line. */
async function readKey({ apiKey }: Config): Promise<string> {
  const key = (apiKey ?? (await readSecret('API key: '))).trim()
  if (/^tbt_(test|live)_[\x21-\x7e]+$/.test(key)) return key
  throw new UserError(
    key === '' && !isInteractive()
      ? 'No API key was given. Set TABBAT_API_KEY_FILE, or write the key to standard input.'
      : 'This is not an API key. A key begins with tbt_test_ or tbt_live_.',
  )
}

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const
type SignalName = keyof typeof EXIT_CODES

/** The first signal ends the run in order; the second ends the process. */
function listenForInterruption() {
  const controller = new AbortController()
  let received: SignalName | undefined
  const onSignal = (name: SignalName) => {
    received = name
    stop()
    controller.abort()
  }
  const stop = () => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, onSignal)
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, onSignal)
  return { signal: controller.signal, exitCode: () => received && EXIT_CODES[received], stop }
}

/** What a run costs, in kobo. Undefined: the price is not known here. */
type Estimate = { readonly kobo: number | undefined; readonly text: string }

type EstimateOptions = {
  readonly kind: Kind
  readonly rows: number
  readonly key: string
  /** The server is elsewhere, so its prices are not known. */
  readonly isRemote: boolean
  /** In kobo. */
  readonly price?: number
}

/** Rows × price of the first source that has a price. Further sources are asked only if it fails. */
async function toEstimate(config: Config, options: EstimateOptions): Promise<Estimate> {
  const { rows, key, isRemote, price } = options
  if (isTestKey(key)) return { kobo: 0, text: 'Cost: none. A test key gets synthetic people.' }
  if (price !== undefined) return toCost(rows, price, '--price')
  if (isRemote)
    return {
      kobo: undefined,
      text: 'Cost: the prices of that server are not known here. Give --price to compute it.',
    }
  const paid = listPaidSources(config, options.kind, await readOrder(config, options.kind))
  const [first] = paid
  if (!first) return { kobo: 0, text: 'Cost: none. No source has a price.' }
  const { kobo, text } = toCost(rows, first.price, first.name)
  const most = rows * config.paidCalls * Math.max(...paid.map(({ price }) => price))
  return { kobo, text: `${text} At most ${toNaira(most)}, if calls fail that are billed.` }
}

/** As it was changed while the servers run, or else that of the settings. */
async function readOrder(config: Config, kind: Kind): Promise<readonly string[]> {
  const orders = await readStore(config, (store) => readCallOrders(store, config))
  return orders?.[kind].names ?? config[`${kind}Sources`]
}

/** Every row would fail: see `findEmptyRegistry`. */
const findEmpty = (config: Config, kind: Kind) =>
  readStore(config, (store) => findEmptyRegistry(store, config, kind))

/** Undefined if there is no database yet. */
async function readStore<T>(config: Config, read: (store: Store) => Promise<T>): Promise<T | undefined> {
  const { dataDir, databaseUrl } = config
  if (databaseUrl === undefined && !hasDatabase(join(dataDir, SQLITE_FILE))) return undefined
  const store = await openStore({ dataDir, databaseUrl, mustExist: true, isReading: true, onSchemaWait })
  try {
    return await read(store)
  } finally {
    await store.close()
  }
}

const isTestKey = (key: string) => key.startsWith('tbt_test_')

const listPaidSources = (config: Config, kind: Kind, names: readonly string[]) => {
  const prices = toPrices(config)
  return names.map((name) => ({ name, price: priceOf(prices[name], kind) })).filter(({ price }) => price > 0)
}

const toCost = (rows: number, price: number, from: string): Estimate => ({
  kobo: rows * price,
  text: `Cost: about ${toNaira(rows * price)} (${toCount(rows, 'row')} × ${toNaira(price)}, the price of ${from}).`,
})

/** A run with a live key may cost money and asks about people, so it needs a confirmation. */
async function requireConsent(key: string, rows: number, yes: true | undefined): Promise<void> {
  if (yes || isTestKey(key)) return
  if (!isInteractive())
    throw new UserError(
      'Nothing was sent. Without a terminal, confirm the cost with --yes, or look first with --dry-run.',
    )
  if (!(await confirm(`Verify ${toCount(rows, 'row')}?`))) throw new UserError('Nothing was sent.')
}

const SOME_NOT_ANSWERED = 2

/** On standard error: standard output holds results only. */
function printCheck({ rows, good, refusals }: CheckedFile, cost: string): void {
  const bad = rows - good
  const more = bad > refusals.length ? ` The first ${refusals.length}:` : ''
  process.stderr.write(`${toCount(rows, 'row')}, ${bad} with problems.${more}\n`)
  for (const { line, message } of refusals) process.stderr.write(`  line ${line}: ${message}\n`)
  process.stderr.write(`${cost}\n`)
}

function printDryRun(
  { rows, good, parts }: CheckedFile,
  kobo: number | undefined,
  json: true | undefined,
  config: Config,
): void {
  if (rows > good) process.exitCode = SOME_NOT_ANSWERED
  const cost_naira = kobo === undefined ? null : kobo / 100
  const figures = { dry_run: true, rows, good, refused: rows - good, batches: parts.length, cost_naira }
  if (json) sayJson({ database: toDatabaseText(config) }, figures)
  else say('Nothing was sent.')
}

type SummaryOptions = {
  readonly json?: true
  readonly url?: string
  readonly out: string
  readonly server: string
}

function printSummary(counts: Counts, { json, url, out, server }: SummaryOptions): void {
  const { verified, not_verified, refused, failed, cancelled } = counts
  if (refused + failed + cancelled > 0) process.exitCode = SOME_NOT_ANSWERED
  if (json) {
    if (url === undefined) sayJson({ database: server }, { ...counts, out })
    else say(JSON.stringify({ ...counts, out, server }))
    return
  }
  say(
    `${verified} verified, ${not_verified} not verified, ${refused} refused, ${failed} failed, ${cancelled} cancelled.`,
  )
  say(`The results are in ${out}.`)
}
