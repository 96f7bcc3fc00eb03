import { resolve } from 'node:path'
import { Argument, type Command, Option } from 'commander'
import { say, sayJson } from '../app/terminal.ts'
import { loadConfig } from '../config/config.ts'
import { toDatabaseText } from '../config/database-text.ts'
import { KINDS, type Kind } from '../crypto/blind-index.ts'
import { UserError } from '../errors.ts'
import { type Imported, importFile } from '../registry/import/import-file.ts'
import { type Input, openInput } from '../registry/import/input.ts'
import type { Progress } from '../registry/import/progress.ts'
import { createProgressLine, toFigure } from '../registry/import/progress-line.ts'
import { FORMATS, type Format, toFormat } from '../registry/import/rows.ts'
import { prepareForBulk } from '../store/save-records.ts'
import { withCommandContext } from './command-context.ts'

type Options = { format?: Format; strict?: true; rejected?: string; json?: true }

/** Rejected rows that are named on the screen; the file has them all. */
const MOST_SHOWN = 5
const SOME_REJECTED = 2
const NOTHING: Progress = { offset: 0, line: 1, records: 0, changed: 0, rejected: 0, rejectedBytes: 0 }

export function addImportCommand(program: Command): void {
  program
    .command('import')
    .description('bring your own records into the registry; the same file again changes nothing')
    .addArgument(new Argument('<kind>', 'what the records are').choices(KINDS))
    .argument('<file>', 'NDJSON or CSV, one record a row; - reads standard input')
    .addOption(
      new Option('--format <format>', 'default: csv for names that end in .csv, else ndjson').choices(
        FORMATS,
      ),
    )
    .option('--strict', 'stop at the first row that is not taken; those before it stay')
    .option(
      '--rejected <file>',
      'where rows go that are not taken (default: the name of the file + .rejected)',
    )
    .option('--json', 'print the summary as an object for a program')
    .addHelpText(
      'after',
      `
Ends with 0 when every row was taken, 2 when some were rejected, 1 when it could not go on, 130 after Ctrl-C.
Ctrl-C saves what was read. An import that was interrupted continues where it was when it is started again.
The formats are described in docs/import.md.`,
    )
    .action(runImport)
}

async function runImport(kind: Kind, file: string, options: Options): Promise<void> {
  const input = await openInput(file)
  const interruption = listenForInterruption()
  try {
    const done = await importInput(kind, file, input, { ...options, signal: interruption.signal })
    // Standard input may be silent for ever: its end is not waited for.
    if (done.isInterrupted) process.exit(EXIT_CODES[interruption.name() ?? 'SIGINT'])
  } finally {
    interruption.stop()
    await input.close()
  }
}

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const
type SignalName = keyof typeof EXIT_CODES

/** The first signal ends the import in order; the second one ends the process. */
function listenForInterruption() {
  const controller = new AbortController()
  let received: SignalName | undefined
  const onSignal = (name: SignalName) => {
    received = name
    stop()
    process.stderr.write('\nStopping: saving what was read. Once more ends at once.\n')
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
  if (resolve(rejectedPath) === resolve(file)) throw new UserError('--rejected names the file itself.')
  const format = options.format ?? toFormat(file)
  const screen = createScreen(input)
  try {
    const settings = { kind, format, rejectedPath, strict: options.strict === true, signal: options.signal }
    const done = await withCommandContext(async ({ store, keyring, audit }) => {
      await prepareForBulk(store.database)
      await audit.record([{ phase: 'import_started', detail: kind }])
      const record = (outcome: string, progress: Progress) =>
        audit.record([{ phase: 'imported', outcome, detail: `${kind}: ${toCounts(progress)}` }])
      try {
        const imported = await importFile({ table: store.registry, keyring }, input, settings, screen)
        await record(imported.isInterrupted ? 'interrupted' : 'ok', imported)
        return imported
      } catch (error) {
        await record('failed', screen.last()).catch(() => {})
        throw error
      }
    })
    screen.clear()
    if (done.isInterrupted) tellInterruption(done, options.json)
    else summarise(done, (performance.now() - startedAt) / 1000, rejectedPath, options.json)
    return done
  } finally {
    screen.clear()
  }
}

const toCounts = ({ records, changed, rejected }: Progress) =>
  `${records} records, ${changed} new or changed, ${rejected} rejected`

/** What was kept, and how to go on. */
function tellInterruption(done: Imported, json: true | undefined): void {
  const { records, changed, rejected, line, canContinue } = done
  if (json) {
    const counts = { records, changed, rejected, next_line: line, continues: canContinue }
    sayJson({ database: toDatabaseText(loadConfig()) }, { interrupted: true, ...counts })
    return
  }
  say(`Interrupted before line ${line}. StoredResponse: ${toCounts(done)}.`)
  say(
    canContinue
      ? `Run the same command again to go on at line ${line}.`
      : 'This input cannot be continued. Import it again from its beginning: rows that are in the registry stay as they are.',
  )
}

/** What a person sees meanwhile, on standard error: figures, line numbers and reasons, never a value. */
function createScreen({ size }: Input) {
  const line = createProgressLine(process.stderr, size)
  let shown = 0
  let last: Progress = NOTHING
  const tell = (text: string) => {
    line.clear()
    process.stderr.write(`${text}\n`)
  }
  return {
    clear: line.clear,
    last: () => last,
    onContinue: (progress: Progress) => tell(`continuing at line ${progress.line}`),
    onProgress: (progress: Progress) => {
      last = progress
      line.show(progress)
    },
    onReject: (reject: { readonly line: number; readonly reason: string }) => {
      if (shown++ < MOST_SHOWN) tell(`line ${reject.line}: ${reject.reason}`)
    },
  }
}

function summarise(
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
  if (rejected > 0) say(`The rejected rows and the reasons are in ${rejectedPath}.`)
}
