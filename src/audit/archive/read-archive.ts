import { createHash, type KeyObject } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { UserError } from '../../errors.ts'
import type { Checkpoint } from '../audit-table.ts'
import {
  ARCHIVE_COLUMNS,
  type ArchiveStatement,
  type BlockHeader,
  type BlockPlace,
  type Directory,
  decompressFrame,
  MAX_FRAME_BYTES,
  openStatement,
  PLACES_BYTES,
  type Place,
  readPlaces,
  type SignedStatement,
  toLines,
} from './archive-format.ts'

/** The cells of a row in the order of ARCHIVE_COLUMNS. */
type ArchiveCells = readonly unknown[]

export type ArchiveBlock = { readonly header: BlockHeader; readonly rows: readonly ArchiveCells[] }

/**
 * A file that may be an archive. Only its statement was unpacked, within narrow bounds. Anybody may have put it there: read its
 * content only after the signature of the statement and the digest of the content were found good.
 */
export type FoundArchive = {
  readonly path: string
  readonly signed: SignedStatement
  /** The bytes that the statement is about. */
  readonly contentBytes: number
  /** Changes when the file is written or replaced. */
  readonly identity: string
  readonly readBytes: (place: Place) => Promise<Buffer>
  readonly readContent: () => Promise<ArchiveReader>
  readonly close: () => Promise<void>
}

/** The content of an archive. */
export type ArchiveReader = {
  readonly path: string
  readonly blocks: readonly BlockPlace[]
  readonly readBytes: (place: Place) => Promise<Buffer>
  /** The lines of a frame, as bytes. */
  readonly readText: (place: Place) => Promise<Buffer>
  readonly readPolicies: () => Promise<ReadonlyMap<string, string>>
  readonly readCheckpoints: () => AsyncIterable<readonly Checkpoint[]>
  /** How many frames of checkpoints there are, in the order of time. */
  readonly checkpointFrames: number
  readonly readCheckpointFrame: (index: number) => Promise<readonly Checkpoint[]>
  readonly readBlock: (place: Place) => Promise<ArchiveBlock>
}

/** The file cannot be read as an archive: it is another file, incomplete or damaged. */
export class UnreadableArchive extends UserError {
  constructor(path: string) {
    super(`${path} is no complete audit archive: it is another file, or was cut off or damaged.`)
    this.name = 'UnreadableArchive'
  }
}

/** A chain takes about 130 bytes of the statement, and an archive has one for each process and month. */
const MAX_STATEMENT_BYTES = 16 * 1024 * 1024

export async function openArchive(path: string): Promise<FoundArchive> {
  // Without waiting for a writer: the file may be a pipe.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      throw new UserError(
        error.code === 'ENOENT'
          ? `There is no archive at ${path}.`
          : `${path} cannot be read. Check the path and its permissions.`,
      )
    },
  )
  try {
    return await readEnd(path, file)
  } catch (error) {
    await file.close()
    throw error instanceof UserError ? error : new UnreadableArchive(path)
  }
}

async function readEnd(path: string, file: FileHandle): Promise<FoundArchive> {
  const stats = await file.stat({ bigint: true })
  if (!stats.isFile()) throw new UnreadableArchive(path)
  const size = Number(stats.size)
  const readBytes = async ({ at, length }: Place) => {
    if (!(at >= 0 && length >= 0 && at + length <= size)) throw new UnreadableArchive(path)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
    if (bytesRead !== length) throw new UnreadableArchive(path)
    return buffer
  }
  const readFrame = async (place: Place, maxBytes: number) => {
    if (place.length > maxBytes) throw new UnreadableArchive(path)
    const bytes = await readBytes(place)
    return decompressFrame(bytes, maxBytes).catch(() => {
      throw new UnreadableArchive(path)
    })
  }
  const places = readPlaces(await readBytes({ at: size - PLACES_BYTES, length: PLACES_BYTES }))
  if (!places) throw new UnreadableArchive(path)
  const [signedLine = ''] = toLines(await readFrame(places.statement, MAX_STATEMENT_BYTES))
  const signed = JSON.parse(signedLine) as SignedStatement | null
  if (typeof signed !== 'object' || signed === null) throw new UnreadableArchive(path)
  return {
    path,
    signed,
    contentBytes: places.statement.at,
    identity: [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' '),
    readBytes,
    readContent: () =>
      readContent(path, places.directory, readBytes, (place) => readFrame(place, MAX_FRAME_BYTES)),
    close: () => file.close(),
  }
}

async function readContent(
  path: string,
  directoryPlace: Place,
  readBytes: FoundArchive['readBytes'],
  readText: ArchiveReader['readText'],
): Promise<ArchiveReader> {
  const readLines = async (place: Place) => toLines(await readText(place))
  const [directoryLine = ''] = await readLines(directoryPlace)
  const directory = parse<Directory>(directoryLine, path)
  const readAll = async <T>(place: Place) => (await readLines(place)).map((line) => parse<T>(line, path))
  return {
    path,
    blocks: directory.blocks,
    readBytes,
    readText,
    readPolicies: async () => {
      const policies = await readAll<{ id: string; fields: string }>(directory.policies)
      return new Map(policies.map(({ id, fields }) => [id, fields]))
    },
    readCheckpoints: async function* () {
      for (const place of directory.checkpoints) yield await readAll<Checkpoint>(place)
    },
    checkpointFrames: directory.checkpoints.length,
    readCheckpointFrame: async (index) => {
      const place = directory.checkpoints[index]
      return place ? readAll<Checkpoint>(place) : []
    },
    readBlock: async (place) => {
      const [header, ...rows] = await readAll<unknown>(place)
      if (!rows.every(isRow)) throw new UnreadableArchive(path)
      return { header: header as BlockHeader, rows }
    },
  }
}

const isRow = (value: unknown): value is ArchiveCells =>
  Array.isArray(value) && value.length === ARCHIVE_COLUMNS.length

function parse<T>(line: string, path: string): T {
  try {
    return JSON.parse(line) as T
  } catch {
    throw new UnreadableArchive(path)
  }
}

/** Resolves when an archive is the file that was archived, with its statement. Throws if it was changed. */
export type CheckDigest = (file: FoundArchive, publicKey: KeyObject) => Promise<ArchiveStatement>

/** Few enough bytes not to delay requests. */
const BYTES_AT_ONCE = 256 * 1024

/** Whether the content is the one that the statement is about. Reads all of it. */
export async function hasDigest(
  { contentBytes, readBytes }: FoundArchive,
  { bytes, digest }: ArchiveStatement,
): Promise<boolean> {
  if (contentBytes !== bytes) return false
  const hash = createHash('sha256')
  for (let at = 0; at < bytes; at += BYTES_AT_ONCE)
    hash.update(await readBytes({ at, length: Math.min(BYTES_AT_ONCE, bytes - at) }))
  return hash.digest('hex') === digest
}

/** Reads each file once, and again after it was written or replaced. */
export function createDigestCheck(): CheckDigest {
  const known = new Map<string, { readonly identity: string; readonly isSound: Promise<boolean> }>()
  return async ({ path, identity, signed }, publicKey) => {
    const statement = openStatement(signed, publicKey)
    if (!statement)
      throw new UserError(
        `${path} is not an archive of this audit log: its statement has no valid signature.`,
      )
    const last = known.get(path)
    const isSound = last?.identity === identity ? last.isSound : checkFile(path, identity, statement)
    known.set(path, { identity, isSound })
    isSound.catch(() => known.delete(path))
    if (await isSound) return statement
    throw new UserError(
      `${path} is not the file that was archived: it was changed or damaged. Put a copy in its place, and run: tabbat audit verify`,
    )
  }
}

/** With a file handle of its own: the search may end before. Another file at the path says nothing about this one. */
async function checkFile(path: string, identity: string, statement: ArchiveStatement): Promise<boolean> {
  const file = await openArchive(path)
  try {
    return file.identity === identity && (await hasDigest(file, statement))
  } finally {
    await file.close()
  }
}
