import { styleText } from 'node:util'
import { ConfigError } from '../config/config.ts'
import { UserError } from '../errors.ts'
import { describeFailure } from '../telemetry/log.ts'

/** Lines for a person. Colours appear on a terminal only. */
export const say = (line = '') => {
  if (process.stdout.listenerCount('error', endQuietly) === 0) process.stdout.on('error', endQuietly)
  process.stdout.write(`${line}\n`)
}

/** Whoever reads has seen enough (`| head -1`): nothing is wrong, and there is nobody left to talk to. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit()
  throw error
}

/** An object for a program, which says as well which database it is about. */
export const sayJson = ({ database }: { readonly database: string }, value: object) =>
  say(JSON.stringify({ ...value, database }))

export const warn = (line: string) =>
  void process.stderr.write(`${styleText('yellow', 'warning:', { stream: process.stderr })} ${line}\n`)

export const strong = (text: string) => styleText('bold', text, { stream: process.stdout })
export const dim = (text: string) => styleText('dim', text, { stream: process.stdout })

/** Ends a command that cannot go on: one line for each thing to mend, and never a message that quotes data. */
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
