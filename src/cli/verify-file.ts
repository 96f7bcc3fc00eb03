import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import type { BatchFormat } from '../batches/read-rows.ts'
import { type Config, loadConfig } from '../context/config.ts'
import { KINDS, type Kind } from '../crypto/blind-index.ts'
import { UserError } from '../errors.ts'
import { say } from '../server/terminal.ts'
import { naira } from '../settings/setting.ts'
import { addHelp } from './help.ts'
import { requireOutput } from './output-path.ts'
import { createProgress } from './progress.ts'
import { isInteractive, readSecret } from './prompt.ts'
import { requireConsent, toEstimate } from './verify-file/estimate.ts'
import { checkFile, toBatchFormat } from './verify-file/input-file.ts'
import { listenForInterruption } from './verify-file/interruption.ts'
import { openClient } from './verify-file/open-client.ts'
import { printCheck, printDryRun, printSummary } from './verify-file/report.ts'
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
  if (options.dryRun) return printDryRun(checked, estimate.kobo, options.json, config)
  const { client, close } = await openClient(config, { ...options, key })
  const interruption = listenForInterruption()
  const progress = createProgress()
  try {
    const before = findInterrupted({ client, checked, out })
    if (before)
      process.stderr.write(`Continuing: ${before.written} of ${before.parts.length} parts are written.\n`)
    else await requireConsent(key, checked.good, options.yes)
    const counts = await runFile({ client, file, checked, out, progress, signal: interruption.signal })
    progress.clear()
    printSummary(counts, { ...options, out, server: client.server })
  } catch (error) {
    progress.clear()
    const code = interruption.exitCode()
    if (code === undefined) throw error
    say(`Interrupted. Run the same command again to continue. The state is in ${out}.state.`)
    process.exitCode = code
  } finally {
    interruption.stop()
    await close()
  }
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
