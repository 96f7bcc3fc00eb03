import { setTimeout as pause } from 'node:timers/promises'
import type { RecentRows } from './recent-rows.ts'
import { BLOCK_ROWS, KEY_BYTES, type RowKeys, toPages, writeKey } from './subject-blocks.ts'
import type { IndexedChain, SubjectTable } from './subject-table.ts'

type AllChainsOptions = Omit<IndexOptions, 'recent'> & {
  /** A chain that no process extends gets a block for fewer rows, so that many short chains need no long scan. */
  readonly leastRows?: number
  /** A chain that is extended gets its blocks when this many rows have none. */
  readonly extendedRows?: number
  /** A chain that is left out. */
  readonly except?: (() => string | undefined) | undefined
}

const LEAST_ROWS = 100
/** A process indexes the chain that it extends. Others do it when it has not for this many blocks. */
const EXTENDED_BLOCKS = 2
/** No process extends a chain whose owner has sent no heartbeat for this long. */
const ABANDONED_MS = 600_000
const CHECK_EVERY_MS = 10_000

type IndexDeps = {
  readonly tables: readonly SubjectTable[]
  readonly recent: RecentRows
  /** Whether it also indexes the chains that this process does not extend. */
  readonly isForAll: boolean
  readonly onFailure: (error: unknown) => void
  readonly blockRows?: number
}

/** Keeps the blocks up to date until the returned function is called. Of several nodes, the first to write a block wins. */
export function startSubjectIndex(deps: IndexDeps): () => Promise<void> {
  const { tables, recent, isForAll, onFailure, blockRows = BLOCK_ROWS } = deps
  let isStopped = false
  const options = { blockRows, isStopped: () => isStopped }
  const indexOwn = oneAtATime(() => indexRecent(tables, recent, options), onFailure)
  const except = () => recent.end()?.chain
  const indexOthers = oneAtATime(async () => {
    for (const table of tables)
      await indexSubjects(table, { ...options, except, extendedRows: EXTENDED_BLOCKS * blockRows })
  }, onFailure)
  recent.onBlock(indexOwn.start)
  const timer = setInterval(() => {
    // Rows that an earlier process wrote to this chain.
    indexOwn.start()
    if (isForAll) indexOthers.start()
  }, CHECK_EVERY_MS).unref()
  return async () => {
    isStopped = true
    clearInterval(timer)
    // Rows are written after this, until the log is closed, and then the database.
    recent.onBlock(() => {})
    await Promise.all([indexOwn.finish(), indexOthers.finish()])
  }
}

/** Writes the blocks of the chain that this process extends, from memory as far as its rows are there. */
export async function indexRecent(
  tables: readonly SubjectTable[],
  recent: RecentRows,
  options: Omit<IndexOptions, 'recent'> = {},
): Promise<void> {
  const end = recent.end()
  if (!end) return
  const { chain, sequence: head } = end
  const least = options.blockRows ?? BLOCK_ROWS
  for (const table of tables) {
    const indexed = await table.indexed(chain)
    await indexChain(table, { chain, head, indexed, least }, { ...options, recent })
  }
}

/** Writes every block that is due. Returns how many were written. */
export async function indexSubjects(table: SubjectTable, options: AllChainsOptions = {}): Promise<number> {
  const { blockRows = BLOCK_ROWS, leastRows = LEAST_ROWS, except } = options
  const { extendedRows = blockRows, isStopped = () => false } = options
  let written = 0
  for (const each of await table.chains()) {
    const { chain, head, indexed } = each
    const least = isExtended(each) ? extendedRows : Math.min(leastRows, blockRows)
    if (head - indexed < least || chain === except?.()) continue
    written += await indexChain(table, { chain, head, indexed, least }, options)
    if (isStopped()) break
  }
  return written
}

const isExtended = ({ owner, beatAt }: IndexedChain) => owner !== null && beatAt > Date.now() - ABANDONED_MS

function oneAtATime(work: () => Promise<void>, onFailure: (error: unknown) => void) {
  let running: Promise<void> | undefined
  const start = () => {
    running ??= work()
      .catch(onFailure)
      .finally(() => {
        running = undefined
      })
  }
  return { start, finish: async () => running }
}

type IndexOptions = {
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
async function indexChain(
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
