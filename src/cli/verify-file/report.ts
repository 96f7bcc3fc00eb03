import type { Config } from '../../context/config.ts'
import { toDatabaseText } from '../../context/database-text.ts'
import { say, sayJson, toCount } from '../../server/terminal.ts'
import type { Counts } from './counts.ts'
import type { CheckedFile } from './input-file.ts'

const SOME_NOT_ANSWERED = 2

/** On standard error: standard output holds results only. */
export function printCheck({ rows, good, refusals }: CheckedFile, cost: string): void {
  const bad = rows - good
  const more = bad > refusals.length ? ` The first ${refusals.length}:` : ''
  process.stderr.write(`${toCount(rows, 'row')}, ${bad} with problems.${more}\n`)
  for (const { line, message } of refusals) process.stderr.write(`  line ${line}: ${message}\n`)
  process.stderr.write(`${cost}\n`)
}

export function printDryRun(
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

export function printSummary(counts: Counts, { json, url, out, server }: SummaryOptions): void {
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
