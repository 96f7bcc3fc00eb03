import { resolve } from 'node:path'
import { Argument, type Command, Option } from 'commander'
import { loadConfig } from '../context/config.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { KINDS, type Kind } from '../crypto/mac.ts'
import { UserError } from '../errors.ts'
import type { Progress } from '../registry/import/import-file.ts'
import { type Imported, importFile } from '../registry/import/import-file.ts'
import { type Input, openInput } from '../registry/import/input.ts'
import { createProgressLine, toFigure } from '../registry/import/progress-line.ts'
import { FORMATS, type Format, toFormat } from '../registry/import/rows.ts'
import { prepareForBulk } from '../registry/save-records.ts'
import { say, sayJson } from '../server/terminal.ts'
import { withCommandContext } from './command-context.ts'
import { addHelp } from './help.ts'

type Options = { format?: Format; strict?: true; rejected?: string; json?: true }

export function addImportCommand(program: Command): void {
  const command = program
    .command('import')
    .description('import your own records into the registry; importing a file again changes nothing')
    .addArgument(new Argument('<kind>', 'kind of record').choices(KINDS))
    .argument('<file>', 'NDJSON or CSV, one record per row; - reads standard input')
    .addOption(
      new Option(
        '--format <format>',
        'format of the file (default: csv if its name ends in .csv, else ndjson)',
      ).choices(FORMATS),
    )
    .option('--strict', 'stop at the first rejected row; the rows before it stay')
    .option('--rejected <file>', 'file for the rejected rows (default: the name of the file + .rejected)')
    .option('--json', 'print the summary as a JSON object')
    .action(runImport)
  addHelp(command, {
    details:
      'Ctrl-C saves the rows read so far. Run the same command again to continue at that point. docs/import.md describes the formats.',
    usesDatabase: true,
    exitCodes: {
      0: 'every row was imported',
      1: 'the import failed; the reason is on standard error',
      2: 'some rows were rejected',
      130: 'interrupted by Ctrl-C',
      143: 'interrupted by SIGTERM',
    },
    examples: {
      'import nin people.ndjson': 'import NIN records',
      'import bvn people.csv --strict --json': 'stop at the first bad row, print JSON',
    },
  })
}

async function runImport(kind: Kind, file: string, options: Options): Promise<void> {
  const input = await openInput(file)
  const interruption = listenForInterruption()
  try {
    const done = await importInput(kind, file, input, { ...options, signal: interruption.signal })
    // Standard input may never end, so the process exits here.
    if (done.isInterrupted) process.exit(SIGNAL_EXIT_CODES[interruption.name() ?? 'SIGINT'])
  } finally {
    interruption.stop()
    await input.close()
  }
}

const SIGNAL_EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const
type SignalName = keyof typeof SIGNAL_EXIT_CODES

/** The first signal stops the import after saving; the second ends the process. */
function listenForInterruption() {
  const controller = new AbortController()
  let received: SignalName | undefined
  const onSignal = (name: SignalName) => {
    received = name
    stop()
    process.stderr.write('\nStopping: saving the rows read so far. Press Ctrl-C again to end at once.\n')
    controller.abort()
  }
  const stop = () => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, onSignal)
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, onSignal)
  return { signal: controller.signal, name: () => received, stop }
}

type Run = Options & { readonly signal: AbortSignal }

async function importInput(kind: Kind, file: string, input: Input, options: Run): Promise<Imported> {
  const startedAt = performance.now()
  const rejectedPath = options.rejected ?? `${input.size === undefined ? 'stdin' : file}.rejected`
  if (resolve(rejectedPath) === resolve(file))
    throw new UserError('--rejected names the file to import. Name another file.')
  const format = options.format ?? toFormat(file)
  const report = createProgressReport(input)
  try {
    const settings = { kind, format, rejectedPath, strict: options.strict === true, signal: options.signal }
    const done = await withCommandContext(async ({ store, keyring, audit }) => {
      await prepareForBulk(store.database)
      await audit.record([{ phase: 'import_started', detail: kind }])
      const record = (outcome: string, progress: Progress) =>
        audit.record([{ phase: 'imported', outcome, detail: `${kind}: ${toCounts(progress)}` }])
      try {
        const imported = await importFile({ table: store.registry, keyring }, input, settings, report)
        await record(imported.isInterrupted ? 'interrupted' : 'ok', imported)
        return imported
      } catch (error) {
        await record('failed', report.last()).catch(() => {})
        throw error
      }
    })
    report.clear()
    if (done.isInterrupted) printInterruption(done, options.json)
    else printSummary(done, (performance.now() - startedAt) / 1000, rejectedPath, options.json)
    return done
  } finally {
    report.clear()
  }
}

/** Rejected rows that are shown; the file of rejected rows has all. */
const MAX_SHOWN = 5
const SOME_REJECTED = 2
const NOTHING: Progress = { offset: 0, line: 1, records: 0, changed: 0, rejected: 0, rejectedBytes: 0 }

/** Progress on standard error: figures, line numbers and reasons, never a value of a row. */
function createProgressReport({ size }: Input) {
  const line = createProgressLine(process.stderr, size)
  let shown = 0
  let last: Progress = NOTHING
  const print = (text: string) => {
    line.clear()
    process.stderr.write(`${text}\n`)
  }
  return {
    clear: line.clear,
    last: () => last,
    onContinue: (progress: Progress) => print(`continuing at line ${progress.line}`),
    onProgress: (progress: Progress) => {
      last = progress
      line.show(progress)
    },
    onReject: (reject: { readonly line: number; readonly reason: string }) => {
      if (shown++ < MAX_SHOWN) print(`line ${reject.line}: ${reject.reason}`)
    },
  }
}

const toCounts = ({ records, changed, rejected }: Progress) =>
  `${records} records, ${changed} new or changed, ${rejected} rejected`

/** What was saved, and how to continue. */
function printInterruption(done: Imported, json: true | undefined): void {
  const { records, changed, rejected, line, canContinue } = done
  if (json) {
    const counts = { records, changed, rejected, next_line: line, continues: canContinue }
    sayJson({ database: toDatabaseText(loadConfig()) }, { interrupted: true, ...counts })
    return
  }
  say(`Interrupted before line ${line}. Saved: ${toCounts(done)}.`)
  say(
    canContinue
      ? `Run the same command again to continue at line ${line}.`
      : 'This input cannot be continued. Import it again from the start: rows that are in the registry already do not change.',
  )
}

function printSummary(
  { records, changed, rejected }: Progress,
  seconds: number,
  rejectedPath: string,
  json: true | undefined,
): void {
  const unchanged = records - changed - rejected
  if (rejected > 0) process.exitCode = SOME_REJECTED
  if (json) {
    const figures = { records, changed, unchanged, rejected, seconds: Number(seconds.toFixed(3)) }
    sayJson({ database: toDatabaseText(loadConfig()) }, figures)
    return
  }
  say(
    `${toFigure(records)} ${records === 1 ? 'record' : 'records'}: ${toFigure(changed)} new or changed, ${toFigure(unchanged)} unchanged, ${toFigure(rejected)} rejected, in ${seconds.toFixed(1)} s.`,
  )
  if (rejected > 0) say(`The rejected rows and their reasons are in ${rejectedPath}.`)
}
