import { setTimeout as pause } from 'node:timers/promises'
import type { RecentRows } from './recent-rows.ts'
import { BLOCK_ROWS, KEY_BYTES, type RowKeys, toPages, writeKey } from './subject-blocks.ts'
import type { SubjectTable } from './subject-table.ts'

export type IndexOptions = {
  /** Rows of a full block. */
  readonly blockRows?: number
  readonly isStopped?: () => boolean
  /** Rows that need not be read. */
  readonly recent?: RecentRows | undefined
}

/** A chain, its last row and the last one in a block. A block is written while `least` rows have none. */
type IndexRange = {
  readonly chain: string
  readonly head: number
  readonly indexed: number
  readonly least: number
}

/** Few enough not to delay requests: SQLite answers synchronously. */
const ROWS_AT_ONCE = 100
/** Between two reads, for the requests that are waiting; on a busy machine more. */
const PAUSE_MS = 5
const PAUSE_PER_READ = 10

/** Writes every block of a chain that is due. Returns how many were written. */
export async function indexChain(
  table: SubjectTable,
  { chain, head, least, ...range }: IndexRange,
  options: IndexOptions,
): Promise<number> {
  const { blockRows = BLOCK_ROWS, isStopped = () => false } = options
  let written = 0
  for (let { indexed } = range; head - indexed >= least; ) {
    const last = Math.min(indexed + blockRows, head)
    const keys = await collectKeys(table, chain, indexed, last, options)
    if (isStopped()) return written
    const isMine = await table.insertBlock({ chain, first: indexed + 1, last, pages: toPages(keys) })
    // Another process has written a block here, perhaps of another length: the next run sees it.
    if (!isMine) return written
    written += 1
    indexed = last
  }
  return written
}

/** Reads rows until the others are in memory. */
async function collectKeys(
  table: SubjectTable,
  chain: string,
  from: number,
  upTo: number,
  { recent, isStopped = () => false }: IndexOptions,
): Promise<RowKeys> {
  const keys = new Uint8Array((upTo - from) * KEY_BYTES)
  for (let after = from; after < upTo && !isStopped(); ) {
    const others = recent?.copyKeys(table.index, chain, after, upTo)
    if (others) {
      keys.set(others, (after - from) * KEY_BYTES)
      return keys
    }
    const last = Math.min(after + ROWS_AT_ONCE, upTo)
    const startedAt = performance.now()
    for (const { sequence, subject } of await table.subjects(chain, after, last))
      writeKey(keys, (sequence - from - 1) * KEY_BYTES, subject)
    after = last
    await pause(Math.max(PAUSE_MS, PAUSE_PER_READ * (performance.now() - startedAt)))
  }
  return keys
}
