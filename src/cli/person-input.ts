import { open } from 'node:fs/promises'
import { readReason } from '../contract/reason.ts'
import { readPersonNumber } from '../contract/virtual-nin.ts'
import type { Kind } from '../crypto/blind-index.ts'
import { UserError } from '../errors.ts'
import { readSecret } from './prompt.ts'

/** A longer file is another one, given by mistake. */
const MOST_BYTES = 4096

/** The number of a person, from a file, standard input or a prompt, and never from the arguments. */
export async function readNumber(kind: Kind, file: string | undefined): Promise<string> {
  const name = kind.toUpperCase()
  const text = file === undefined ? await readSecret(`${name} (not shown): `) : await readShortFile(file)
  const number = readPersonNumber(kind, text.trim())
  if (number !== undefined) return number
  throw new UserError(
    `A ${name} has 11 digits. Give one number, on standard input, at the prompt or with --number-file.`,
  )
}

async function readShortFile(path: string): Promise<string> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw new UserError(`The file with the number cannot be read (${error.code ?? 'unknown error'}).`)
  })
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** The reason is written to the audit log. */
export function requireReason(text: string): string {
  const given = readReason(text)
  if ('problem' in given) throw new UserError(`The reason ${given.problem}.`)
  return given.reason
}
