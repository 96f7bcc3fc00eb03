import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { UserError } from '../errors.ts'

/** Where a person is asked. The questions go to standard error, so that standard output holds answers only. */
export type Terminal = {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream
}

const terminal: Terminal = { input: process.stdin, output: process.stderr }

/** More than any number, and no file by mistake. */
const LONGEST = 4096

export const isInteractive = ({ input } = terminal) => input.isTTY === true

/** What must not be seen: typed without an echo on a terminal, else all of standard input. */
export function readSecret(question: string, { input, output } = terminal): Promise<string> {
  if (!input.isTTY) return readAll(input)
  const nowhere = new Writable({ write: (_piece, _encoding, done) => done() })
  output.write(question)
  return readLine({ input, output: nowhere }).finally(() => output.write('\n'))
}

/** Yes only when it is said. Not for programs: they say --yes. */
export async function confirm(question: string, { input, output } = terminal): Promise<boolean> {
  output.write(`${question} [y/N] `)
  return /^y(es)?$/i.test((await readLine({ input, output })).trim())
}

/** For what cannot be undone: asked on a terminal; elsewhere it must be said with --yes. */
export async function requireConfirmation(
  question: string,
  yes: true | undefined,
  refusal: string,
): Promise<void> {
  if (yes) return
  if (!isInteractive())
    throw new UserError(`This cannot be undone. Without a terminal, say that it is meant: --yes. ${refusal}`)
  if (!(await confirm(question))) throw new UserError(refusal)
}

async function readAll(input: Terminal['input']): Promise<string> {
  let text = ''
  for await (const piece of input) {
    text += piece
    if (text.length > LONGEST) throw new UserError('Standard input is too long for one number.')
  }
  return text
}

/** Ctrl-C and Ctrl-D close it. Nothing is kept for the arrow keys to bring back. */
async function readLine(at: Terminal): Promise<string> {
  const lines = createInterface({ ...at, terminal: true, historySize: 0 })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  lines.once('line', resolve).once('close', () => reject(new UserError('Cancelled; nothing was changed.')))
  return promise.finally(() => lines.close())
}
