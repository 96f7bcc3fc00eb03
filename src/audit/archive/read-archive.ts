import { type FileHandle, open } from 'node:fs/promises'
import { UserError } from '../../errors.ts'
import type { Checkpoint } from '../../store/audit-table.ts'
import {
  ARCHIVE_COLUMNS,
  type BlockHeader,
  type BlockPlace,
  type Directory,
  decompressFrame,
  PLACES_BYTES,
  type Place,
  readPlaces,
  toLines,
} from './archive-format.ts'
import type { SignedStatement } from './archive-statement.ts'

/** The cells of a row in the order of ARCHIVE_COLUMNS. */
type ArchiveCells = readonly unknown[]

export type ArchiveBlock = { readonly header: BlockHeader; readonly rows: readonly ArchiveCells[] }

/** An archive that is open. Nothing in it is trusted: an attacker may have changed it. */
export type ArchiveReader = {
  readonly path: string
  readonly signed: SignedStatement
  /** The bytes that the statement is about. */
  readonly contentBytes: number
  readonly blocks: readonly BlockPlace[]
  /** Changes when the file is written or replaced. */
  readonly identity: string
  readonly readBytes: (place: Place) => Promise<Buffer>
  /** The lines of a frame, as bytes. */
  readonly readText: (place: Place) => Promise<Buffer>
  readonly readPolicies: () => Promise<ReadonlyMap<string, string>>
  readonly readCheckpoints: () => AsyncIterable<readonly Checkpoint[]>
  /** How many frames of checkpoints there are, in the order of time. */
  readonly checkpointFrames: number
  readonly readCheckpointFrame: (index: number) => Promise<readonly Checkpoint[]>
  readonly readBlock: (place: Place) => Promise<ArchiveBlock>
  readonly close: () => Promise<void>
}

/** The file cannot be read as an archive: it is another file, incomplete or damaged. */
export class UnreadableArchive extends UserError {
  constructor(path: string) {
    super(`${path} is no complete audit archive: it is another file, or was cut off or damaged.`)
    this.name = 'UnreadableArchive'
  }
}

export async function openArchive(path: string): Promise<ArchiveReader> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw new UserError(
      error.code === 'ENOENT'
        ? `There is no archive at ${path}.`
        : `${path} cannot be read. Check the path and its permissions.`,
    )
  })
  try {
    return await readEnds(path, file)
  } catch (error) {
    await file.close()
    throw error instanceof UserError ? error : new UnreadableArchive(path)
  }
}

async function readEnds(path: string, file: FileHandle): Promise<ArchiveReader> {
  const stats = await file.stat({ bigint: true })
  const size = Number(stats.size)
  const readBytes = async ({ at, length }: Place) => {
    if (!(at >= 0 && length >= 0 && at + length <= size)) throw new UnreadableArchive(path)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
    if (bytesRead !== length) throw new UnreadableArchive(path)
    return buffer
  }
  const readText = async (place: Place) => {
    const bytes = await readBytes(place)
    return decompressFrame(bytes).catch(() => {
      throw new UnreadableArchive(path)
    })
  }
  const readLines = async (place: Place) => toLines(await readText(place))
  const places = readPlaces(await readBytes({ at: size - PLACES_BYTES, length: PLACES_BYTES }))
  if (!places) throw new UnreadableArchive(path)
  const [signedLine = ''] = await readLines(places.statement)
  const [directoryLine = ''] = await readLines(places.directory)
  const directory = JSON.parse(directoryLine) as Directory
  const readAll = async <T>(place: Place) => (await readLines(place)).map((line) => parse<T>(line, path))
  return {
    path,
    signed: JSON.parse(signedLine) as SignedStatement,
    contentBytes: places.statement.at,
    blocks: directory.blocks,
    identity: [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' '),
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
    close: () => file.close(),
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
