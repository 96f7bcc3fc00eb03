import { loadConfig } from '../config/config.ts'
import { toDatabaseText } from '../config/database-text.ts'
import type { Imported } from '../registry/import/import-file.ts'
import type { Input } from '../registry/import/input.ts'
import type { Progress } from '../registry/import/progress.ts'
import { createProgressLine, toFigure } from '../registry/import/progress-line.ts'
import { say, sayJson } from '../server/terminal.ts'

/** Rejected rows that are shown; the file of rejected rows has all. */
const MAX_SHOWN = 5
const SOME_REJECTED = 2
const NOTHING: Progress = { offset: 0, line: 1, records: 0, changed: 0, rejected: 0, rejectedBytes: 0 }

/** Progress on standard error: figures, line numbers and reasons, never a value of a row. */
export function createProgressReport({ size }: Input) {
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

export const toCounts = ({ records, changed, rejected }: Progress) =>
  `${records} records, ${changed} new or changed, ${rejected} rejected`

/** What was saved, and how to continue. */
export function printInterruption(done: Imported, json: true | undefined): void {
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

export function printSummary(
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
