/**
 * Files of lines with a MAC beside `checkpoints.log`, for what must survive a restore of an older backup. Only this database reads
 * them. Unlike a checkpoint they need no public key, and a MAC takes a hundredth of the time of a signature: every command and,
 * when another process has written, every server reads the whole file.
 */

import type { KeyObject } from 'node:crypto'
import { open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { toTextMac } from '../crypto/mac.ts'
import { makeFolder } from '../crypto/make-folder.ts'
import { UserError } from '../errors.ts'

export type SignedFile = { readonly file: string; readonly text: string }

/** A line without its MAC. */
export type SignedLine = Readonly<Record<string, unknown>>

/** Adds a line for each object. Durable when it resolves. If a crash left an incomplete line, it is ended first. */
export async function appendSigned(
  folder: string,
  name: string,
  key: KeyObject,
  objects: readonly object[],
): Promise<void> {
  if (objects.length === 0) return
  const lines = objects.map((object) => {
    const text = JSON.stringify(object)
    return `${text.slice(0, -1)}${toSuffix(toTextMac(key, text))}\n`
  })
  await makeFolder(folder)
  const file = await open(join(folder, name), 'a+', 0o600)
  try {
    const { size } = await file.stat()
    const last = Buffer.alloc(1, '\n')
    if (size > 0) await file.read(last, 0, 1, size - 1)
    await file.appendFile(`${last.toString() === '\n' ? '' : '\n'}${lines.join('')}`)
    await file.sync()
  } finally {
    await file.close()
  }
}

const toSuffix = (mac: string) => `,"mac":"${mac}"}`

/** The lines of a file, or of the file of that name in a folder. Undefined if there is none. */
export async function readSigned(path: string, name: string): Promise<SignedFile | undefined> {
  try {
    const file = (await stat(path)).isDirectory() ? join(path, name) : path
    return { file, text: await readFile(file, 'utf8') }
  } catch (error) {
    // More than a text can have: a device without an end.
    const { code = error instanceof RangeError ? 'EFBIG' : 'unknown error' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    throw new SignedFileError(path, code)
  }
}

class SignedFileError extends UserError {
  override readonly name = 'SignedFileError'
  readonly code: string

  constructor(path: string, code: string) {
    super(`${path} cannot be read (${code}). Check the file and its permissions.`)
    this.code = code
  }
}

/** The bytes of the file of that name in a folder; 0 if there is none. */
export async function readSignedSize(folder: string, name: string): Promise<number> {
  try {
    return (await stat(join(folder, name))).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}

type Scanned<T> = {
  readonly values: T[]
  /** The number of the first line that is not signed by this database, or is not about what the file is for. */
  readonly unsignedLine: number | undefined
}

/** A line that is not JSON is skipped: a crash during a write leaves one. */
export function scanSigned<T>(
  { text }: SignedFile,
  key: KeyObject,
  parse: (line: SignedLine) => T | undefined,
): Scanned<T> {
  const values: T[] = []
  let unsignedLine: number | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const parsed = parseJson(line)
    if (parsed === undefined) continue
    const suffix = toSuffix(String(parsed.mac))
    const signed = line.endsWith(suffix) ? `${line.slice(0, -suffix.length)}}` : ''
    const value = toTextMac(key, signed) === parsed.mac ? parse(parsed) : undefined
    if (value === undefined) unsignedLine ??= index + 1
    else values.push(value)
  }
  return { values, unsignedLine }
}

function parseJson(line: string): SignedLine | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as SignedLine) : undefined
  } catch {
    return undefined
  }
}
