/**
 * The erasures of a database in a file outside it, `erasures.log` beside `checkpoints.log`: a restore of an older backup erases
 * these people again. A line is a JSON object with keyed hashes and a MAC, and no number.
 */

import type { CheckpointFolders } from '../audit/settings.ts'
import {
  appendSigned,
  readSigned,
  readSignedSize,
  type SignedFile,
  type SignedLine,
  scanSigned,
} from '../audit/signed-file.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import type { Tombstone } from './tombstone-table.ts'

export const ERASURES_FILE = 'erasures.log'

export const toErasureFolder = ({ checkpointDir, dataDir }: CheckpointFolders) => checkpointDir ?? dataDir

/** Durable when it resolves. */
export const appendErasures = (
  folder: string,
  keyring: Pick<Keyring, 'erasure'>,
  erasures: readonly Tombstone[],
): Promise<void> => appendSigned(folder, ERASURES_FILE, keyring.erasure, erasures.map(toLine))

const toLine = ({ id, kind, record, reusedResult, subject, erasedAt }: Tombstone) => ({
  id,
  kind,
  erased_at: new Date(erasedAt).toISOString(),
  subject: toHex(subject),
  record: toHex(record),
  reused: toHex(reusedResult),
})

const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

export type ErasuresFile = SignedFile

/** The lines of a file, or of `erasures.log` in a folder. Undefined if there is no such file. */
export const readErasuresFile = (path: string): Promise<ErasuresFile | undefined> =>
  readSigned(path, ERASURES_FILE)

/** The files that are named, which must exist, or else the one of this node, if it exists. */
export async function readErasuresFiles(
  named: readonly string[] | undefined,
  folder: string,
): Promise<ErasuresFile[]> {
  if (!named) return [await readErasuresFile(folder)].flatMap((file) => file ?? [])
  const files: ErasuresFile[] = []
  for (const path of named) {
    const file = await readErasuresFile(path)
    if (!file) throw new UserError(`There is no ${ERASURES_FILE} at ${path}. Nothing was changed.`)
    files.push(file)
  }
  return files
}

/** The bytes of `erasures.log` in a folder; 0 if there is none. */
export const readSize = (folder: string): Promise<number> => readSignedSize(folder, ERASURES_FILE)

/** The erasures of a file, each id once. Refuses a line that this database has not signed. */
export function parseErasures(file: ErasuresFile, keyring: Pick<Keyring, 'erasure'>): Tombstone[] {
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

export function scanErasures(file: ErasuresFile, keyring: Pick<Keyring, 'erasure'>): Scanned {
  const { values, unsignedLine } = scanSigned(file, keyring.erasure, toTombstone)
  return { erasures: [...new Map(values.map((each) => [each.id, each])).values()], unsignedLine }
}

const HASH = /^[0-9a-f]{64}$/

function toTombstone({ id, kind, erased_at, subject, record, reused }: SignedLine): Tombstone | undefined {
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
