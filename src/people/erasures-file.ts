/**
 * The erasures of a database in a file outside it, `erasures.log` beside `checkpoints.log`: a restore of an older backup erases
 * these people again. A line is a JSON object with keyed hashes and a signature, and no number.
 */

import { verify } from 'node:crypto'
import { mkdir, open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { toPublicKey } from '../audit/open-checkpoint.ts'
import { createSigner } from '../audit/signing.ts'
import type { Config } from '../config/config.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import type { Tombstone } from '../store/tombstone-table.ts'

export const ERASURES_FILE = 'erasures.log'

export const toErasureFolder = ({ checkpointDir, dataDir }: Pick<Config, 'checkpointDir' | 'dataDir'>) =>
  checkpointDir ?? dataDir

/** Durable when it resolves. If a crash left an incomplete line, it is ended first. */
export async function appendErasures(
  folder: string,
  keyring: Pick<Keyring, 'audit-signing'>,
  erasures: readonly Tombstone[],
): Promise<void> {
  if (erasures.length === 0) return
  const signer = createSigner(keyring['audit-signing'])
  const lines = erasures.map((erasure) => {
    const text = toText(erasure)
    return `${text.slice(0, -1)},"signature":"${signer.sign(text)}"}\n`
  })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = await open(join(folder, ERASURES_FILE), 'a+', 0o600)
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

/** What is signed. */
const toText = ({ id, kind, record, reusedResult, subject, erasedAt }: Tombstone) =>
  JSON.stringify({
    id,
    kind,
    erased_at: new Date(erasedAt).toISOString(),
    subject: toHex(subject),
    record: toHex(record),
    reused: toHex(reusedResult),
  })

const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** The lines of a file, or of `erasures.log` in a folder. Undefined if there is no such file. */
export async function readErasuresFile(path: string): Promise<ErasuresFile | undefined> {
  try {
    const file = (await stat(path)).isDirectory() ? join(path, ERASURES_FILE) : path
    return { file, text: await readFile(file, 'utf8') }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** The bytes of `erasures.log` in a folder; 0 if there is none. */
export async function readSize(folder: string): Promise<number> {
  try {
    return (await stat(join(folder, ERASURES_FILE))).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}

export type ErasuresFile = { readonly file: string; readonly text: string }

/** The erasures of a file, each id once. Refuses a line that this database has not signed. */
export function parseErasures(file: ErasuresFile, keyring: Pick<Keyring, 'audit-signing'>): Tombstone[] {
  const { erasures, unsignedLine } = scanErasures(file, keyring)
  if (unsignedLine === undefined) return erasures
  throw new UserError(
    `Line ${unsignedLine} of ${file.file} is not an erasure that this database has signed: it was changed, or belongs to another root key. Give the right file with --erasures. Nothing was changed.`,
  )
}

type Scanned = {
  readonly erasures: Tombstone[]
  /** The number of the first one. */
  readonly unsignedLine: number | undefined
}

/** A line that is not JSON is skipped: a crash during a write leaves one. */
export function scanErasures({ text }: ErasuresFile, keyring: Pick<Keyring, 'audit-signing'>): Scanned {
  const key = toPublicKey(createSigner(keyring['audit-signing']).publicKey, 'The key')
  const found = new Map<string, Tombstone>()
  let unsignedLine: number | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const parsed = parseJson(line)
    if (parsed === undefined) continue
    const erasure = toTombstone(parsed)
    const signature = Buffer.from(String(parsed.signature), 'base64')
    if (erasure && verify(null, Buffer.from(toText(erasure)), key, signature)) found.set(erasure.id, erasure)
    else unsignedLine ??= index + 1
  }
  return { erasures: [...found.values()], unsignedLine }
}

type Line = Readonly<Record<string, unknown>>

function parseJson(line: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Line) : undefined
  } catch {
    return undefined
  }
}

const HASH = /^[0-9a-f]{64}$/

function toTombstone({ id, kind, erased_at, subject, record, reused }: Line): Tombstone | undefined {
  const erasedAt = Date.parse(String(erased_at))
  const hashes = [subject, record, reused].map(String)
  if (Number.isNaN(erasedAt) || !hashes.every((hash) => HASH.test(hash))) return undefined
  const [subjectBytes, recordBytes, reusedBytes] = hashes.map((hash) => Buffer.from(hash, 'hex'))
  if (!subjectBytes || !recordBytes || !reusedBytes) return undefined
  return {
    id: String(id),
    kind: String(kind),
    record: recordBytes,
    reusedResult: reusedBytes,
    subject: subjectBytes,
    erasedAt,
  }
}
