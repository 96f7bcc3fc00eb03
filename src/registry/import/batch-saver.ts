import type { Kind } from '../../crypto/blind-index.ts'
import type { RegistryTable } from '../registry-table.ts'
import type { SealedMedia } from '../sealed-record.ts'
import type { Chunk } from './chunks.ts'
import type { Progress } from './progress.ts'
import type { Rejects } from './rejects.ts'
import type { PackedChunk, Reject } from './seal-chunk.ts'
import { type SealedRow, unpackRows } from './sealed-rows.ts'

/**
 * Rows of a commit are sorted, so the more there are, the fewer pages of the index change for each. Few enough that a
 * verification waits less than a second for the commit, and that memory stays flat, even with pictures.
 */
const BATCH_ROWS = 10_000
const BATCH_BYTES = 16 * 1024 * 1024

export type BatchSaver = {
  readonly progress: () => Progress
  /** Adds a chunk, in the order of the file. Saves when the batch is full. */
  readonly add: (chunk: Chunk, rejected: readonly Reject[], sealed: PackedChunk) => Promise<void>
  readonly flush: () => Promise<void>
}

type BatchSaverOptions = {
  readonly table: Pick<RegistryTable, 'save'>
  readonly kind: Kind
  readonly keyVersion: number
  readonly rejects: Rejects
  readonly importId: string | undefined
  readonly start: Progress
}

export function createBatchSaver(options: BatchSaverOptions): BatchSaver {
  const { table, kind, keyVersion, rejects, importId } = options
  let progress = options.start
  let packs: Uint8Array<ArrayBuffer>[] = []
  let size = { rows: 0, bytes: 0 }

  const flush = async () => {
    const saved = { ...progress, rejectedBytes: rejects.sync() }
    const state = (changed: number) => JSON.stringify({ ...saved, changed: saved.changed + changed })
    const rows = packs.flatMap((packed) => unpackRows(kind, keyVersion, packed))
    const changed = await table.save({
      records: rows.map(({ record }) => record),
      media: toPictures(rows),
      at: Date.now(),
      ...(importId === undefined ? {} : { progress: { id: importId, state } }),
    })
    progress = { ...saved, changed: saved.changed + changed }
    // Frees the memory now; the garbage collector would let much of it accumulate first.
    for (const packed of packs) packed.buffer.transfer(0)
    packs = []
    size = { rows: 0, bytes: 0 }
  }

  const add = async (chunk: Chunk, rejected: readonly Reject[], sealed: PackedChunk) => {
    packs.push(sealed.packed)
    rejects.write(rejected)
    size = { rows: size.rows + sealed.count, bytes: size.bytes + sealed.packed.length }
    progress = {
      ...progress,
      offset: chunk.end,
      line: progress.line + sealed.lines,
      records: progress.records + sealed.count + rejected.length,
      rejected: progress.rejected + rejected.length,
    }
    if (size.rows >= BATCH_ROWS || size.bytes >= BATCH_BYTES) await flush()
  }
  return { progress: () => progress, add, flush }
}

/** The pictures of the rows that are saved: of several rows of one person, the last. */
function toPictures(rows: readonly SealedRow[]): SealedMedia[] {
  if (rows.every(({ media }) => media === undefined)) return []
  const bySubject = new Map(
    rows.map(({ record, media }) => [Buffer.from(record.subject).toString('latin1'), media]),
  )
  return [...bySubject.values()].filter((media) => media !== undefined)
}
