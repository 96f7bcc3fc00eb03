import { styleText } from 'node:util'
import { toStorageProblem } from '../database/sqlite-user-error.ts'
import { UserError } from '../errors.ts'
import { ConfigError } from '../settings/environment.ts'
import { describeFailure } from '../telemetry/log.ts'

/** Prints a line for people. Colours appear on a terminal only. */
export const say = (line = '') => print(`${line}\n`)

export function print(text: string): void {
  if (process.stdout.listenerCount('error', endEarly) === 0) process.stdout.on('error', endEarly)
  process.stdout.write(text)
  // Of files and pipes it is known at once, also to a command that ends before the event.
  if (process.stdout.errored) endEarly(process.stdout.errored)
}

/** Ends the command, whose further output cannot be written. A pipe that its reader has closed (`| head -1`) is no error. */
function endEarly(error: NodeJS.ErrnoException): never {
  if (error.code !== 'EPIPE') failWith(new OutputError(error))
  process.exit()
}

/** Standard output cannot be written. */
export class OutputError extends UserError {
  override readonly name = 'OutputError'

  constructor({ code = 'unknown error' }: NodeJS.ErrnoException) {
    super(
      code === 'ENOSPC'
        ? 'Standard output cannot be written: its disk is full (ENOSPC). Free some space, or send it elsewhere, and run the command again; what it has changed is changed.'
        : `Standard output cannot be written (${code}). Send it elsewhere, and run the command again; what it has changed is changed.`,
    )
  }
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
  for (const line of toProblems(error)) process.stderr.write(`${mark} ${toHarmless(line)}\n`)
  process.exitCode = error instanceof OutputError ? 2 : 1
}

/** Ten digits or more, but for those of our own ids and of hashes, and the end of a range. */
const NUMBERS = /\b[a-z]+_[0-9a-z]{16,}\b|\b[0-9a-f]{32,}\b|(?<!from \d+ to |\d)\d{10,}/g

/**
 * What was given may be repeated in a message. A NIN, BVN or phone that was given by mistake must not be; other characters than those
 * of a line could steer the terminal.
 */
export const toHarmless = (text: string) =>
  text
    .replaceAll(NUMBERS, (found) => (/[a-z]/.test(found) ? found : '[number]'))
    .replaceAll(/[^\P{C}\n]/gu, '\ufffd')
    .replaceAll(/\S{300,}/g, (word) => `${word.slice(0, 100)}…`)

function toProblems(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems
  if (error instanceof UserError) return [error.message]
  return [toStorageProblem(error) ?? `this is a bug in Tabbat: ${JSON.stringify(describeFailure(error))}`]
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
