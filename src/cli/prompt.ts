import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { readPersonNumber } from '../contract/person.ts'
import type { Kind } from '../crypto/mac.ts'
import { UserError } from '../errors.ts'

/** Questions go to standard error: standard output holds results only. */
type Terminal = {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream
}

const terminal: Terminal = { input: process.stdin, output: process.stderr }

/** Longer input is a file given by mistake. */
const MAX_INPUT_LENGTH = 4096

export const isInteractive = ({ input } = terminal) => input.isTTY === true

/** Reads a line without echo on a terminal, else all of standard input. */
export function readSecret(question: string, { input, output } = terminal): Promise<string> {
  if (!input.isTTY) return readAll(input)
  const discard = new Writable({ write: (_piece, _encoding, done) => done() })
  return askLine(question, output, { input, output: discard }).finally(() => output.write('\n'))
}

/** The number of a person, never from the arguments. */
export async function readNumber(kind: Kind): Promise<string> {
  const name = kind.toUpperCase()
  const number = readPersonNumber(kind, (await readSecret(`${name} (not shown): `)).trim())
  if (number !== undefined) return number
  throw new UserError(`A ${name} has 11 digits. Give one number, on standard input or at the prompt.`)
}

/** A file that holds the number of a person. */
export async function readShortFile(path: string): Promise<string> {
  const refuse = (error: NodeJS.ErrnoException) => {
    throw new UserError(`The file with the number cannot be read (${error.code ?? 'unknown error'}).`)
  }
  const file = await open(path).catch(refuse)
  try {
    const head = Buffer.alloc(MAX_INPUT_LENGTH)
    const { bytesRead, buffer } = await file.read(head, 0, MAX_INPUT_LENGTH, 0).catch(refuse)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** A line that is shown, without spaces around it. */
export async function readText(question: string, { input, output } = terminal): Promise<string> {
  return (await askLine(question, output, { input, output })).trim()
}

export async function confirm(question: string, { input, output } = terminal): Promise<boolean> {
  return /^y(es)?$/i.test(await readText(`${question} [y/N] `, { input, output }))
}

/** For changes that cannot be undone: asks on a terminal, and requires --yes without one. */
export async function requireConfirmation(
  question: string,
  yes: true | undefined,
  refusal: string,
): Promise<void> {
  if (yes) return
  if (!isInteractive())
    throw new UserError(`This cannot be undone. Without a terminal, confirm with --yes. ${refusal}`)
  if (!(await confirm(question))) throw new UserError(refusal)
}

async function readAll(input: Terminal['input']): Promise<string> {
  let text = ''
  for await (const piece of input) {
    text += piece
    if (text.length > MAX_INPUT_LENGTH) throw new UserError('Standard input is too long. Give one number.')
  }
  return text
}

/** Until the line is awaited, the terminal itself shows what is typed, and Ctrl-C ends the process: an answer may come at once. */
function askLine(question: string, output: Terminal['output'], streams: Terminal): Promise<string> {
  const line = readLine(streams)
  output.write(question)
  return line
}

/** Ctrl-C and Ctrl-D close it. There is no history, so a number cannot be recalled. */
async function readLine(streams: Terminal): Promise<string> {
  const lines = createInterface({ ...streams, terminal: true, historySize: 0 })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  lines.once('line', resolve).once('close', () => reject(new UserError('Cancelled. Nothing was changed.')))
  return promise.finally(() => lines.close())
}
