import { styleText } from 'node:util'
import { UserError } from '../errors.ts'
import { ConfigError } from '../settings/environment.ts'
import { describeFailure } from '../telemetry/log.ts'

/** Prints a line for people. Colours appear on a terminal only. */
export const say = (line = '') => print(`${line}\n`)

export function print(text: string): void {
  if (process.stdout.listenerCount('error', endQuietly) === 0) process.stdout.on('error', endQuietly)
  process.stdout.write(text)
}

/** The reader has closed the pipe (`| head -1`), which is no error. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit()
  throw error
}

/** Prints an object for programs, with the database that it is about. */
export const sayJson = ({ database }: { readonly database: string }, value: object) =>
  say(JSON.stringify({ ...value, database }))

export const warn = (line: string) =>
  void process.stderr.write(`${styleText('yellow', 'warning:', { stream: process.stderr })} ${line}\n`)

export const strong = (text: string) => styleText('bold', text, { stream: process.stdout })
export const dim = (text: string) => styleText('dim', text, { stream: process.stdout })

/** Ends a command with an error: one line for each problem. Messages that may quote data are left out. */
export function failWith(error: unknown): void {
  const mark = styleText('red', 'error:', { stream: process.stderr })
  for (const line of toProblems(error)) process.stderr.write(`${mark} ${line}\n`)
  process.exitCode = 1
}

function toProblems(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems
  if (error instanceof UserError) return [error.message]
  return [`this is a bug in Tabbat: ${JSON.stringify(describeFailure(error))}`]
}

/** "1 call", "2 calls". */
export const toCount = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** Rows as aligned columns; the first row is the heading. */
export function toTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_cell, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return [dim(lines[0] ?? ''), ...lines.slice(1)].join('\n')
}
