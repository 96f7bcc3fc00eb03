/** Files of signed lines beside `checkpoints.log`, for what must survive a restore of an older backup. */

import { verify } from 'node:crypto'
import { mkdir, open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Keyring } from '../crypto/keyring.ts'
import { toPublicKey } from './open-checkpoint.ts'
import { createSigner } from './signing.ts'

type SigningKey = Pick<Keyring, 'audit-signing'>

export type SignedFile = { readonly file: string; readonly text: string }

/** A line without its signature. */
export type SignedLine = Readonly<Record<string, unknown>>

/** Adds a line for each object. Durable when it resolves. If a crash left an incomplete line, it is ended first. */
export async function appendSigned(
  folder: string,
  name: string,
  keyring: SigningKey,
  objects: readonly object[],
): Promise<void> {
  if (objects.length === 0) return
  const signer = createSigner(keyring['audit-signing'])
  const lines = objects.map((object) => {
    const text = JSON.stringify(object)
    return `${text.slice(0, -1)}${toSuffix(signer.sign(text))}\n`
  })
  await mkdir(folder, { recursive: true, mode: 0o700 })
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

const toSuffix = (signature: string) => `,"signature":"${signature}"}`

/** The lines of a file, or of the file of that name in a folder. Undefined if there is none. */
export async function readSigned(path: string, name: string): Promise<SignedFile | undefined> {
  try {
    const file = (await stat(path)).isDirectory() ? join(path, name) : path
    return { file, text: await readFile(file, 'utf8') }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
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
  keyring: SigningKey,
  parse: (line: SignedLine) => T | undefined,
): Scanned<T> {
  const key = toPublicKey(createSigner(keyring['audit-signing']).publicKey, 'The key')
  const values: T[] = []
  let unsignedLine: number | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const parsed = parseJson(line)
    if (parsed === undefined) continue
    const suffix = toSuffix(String(parsed.signature))
    const signed = line.endsWith(suffix) ? `${line.slice(0, -suffix.length)}}` : ''
    const isSigned = verify(null, Buffer.from(signed), key, Buffer.from(String(parsed.signature), 'base64'))
    const value = isSigned ? parse(parsed) : undefined
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
