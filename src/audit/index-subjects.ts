import { setTimeout as pause } from 'node:timers/promises'
import { BLOCK_ROWS, type SubjectOfRow, toPages } from '../store/subject-blocks.ts'
import type { IndexedChain, SubjectTable } from '../store/subject-table.ts'

type IndexOptions = {
  /** Rows of a full block. */
  readonly blockRows?: number
  /** A chain that no process extends gets a block for fewer rows, so that many short chains need no long scan. */
  readonly leastRows?: number
  readonly isStopped?: () => boolean
}

const LEAST_ROWS = 100
/** No process extends a chain whose owner has sent no heartbeat for this long. */
const ABANDONED_MS = 600_000
const ROWS_AT_ONCE = 500
/** Between two reads, so that requests are not delayed while old rows are indexed. */
const PAUSE_MS = 5
const CHECK_EVERY_MS = 10_000

/** Keeps the blocks up to date until the returned function is called. Of several nodes, the first to write a block wins. */
export function startSubjectIndex(
  tables: readonly SubjectTable[],
  onFailure: (error: unknown) => void,
): () => Promise<void> {
  let running: Promise<unknown> | undefined
  let isStopped = false
  const timer = setInterval(() => {
    running ??= indexAll(tables, () => isStopped)
      .catch(onFailure)
      .finally(() => {
        running = undefined
      })
  }, CHECK_EVERY_MS).unref()
  return async () => {
    isStopped = true
    clearInterval(timer)
    await running
  }
}

async function indexAll(tables: readonly SubjectTable[], isStopped: () => boolean): Promise<void> {
  for (const table of tables) await indexSubjects(table, { isStopped })
}

/** Writes every block that is due. Returns how many were written. */
export async function indexSubjects(table: SubjectTable, options: IndexOptions = {}): Promise<number> {
  const { blockRows = BLOCK_ROWS, leastRows = LEAST_ROWS, isStopped = () => false } = options
  let written = 0
  for (const each of await table.chains()) {
    const least = isExtended(each) ? blockRows : Math.min(leastRows, blockRows)
    const { chain, head } = each
    for (let { indexed } = each; head - indexed >= least; ) {
      const last = Math.min(indexed + blockRows, head)
      const rows = await readRows(table, chain, indexed, last, isStopped)
      if (isStopped()) return written
      const first = indexed + 1
      const isMine = await table.insertBlock({ chain, first, last, pages: toPages(rows, first) })
      // Another process has written a block here, perhaps of another length: the next run sees it.
      if (!isMine) break
      written += 1
      indexed = last
    }
  }
  return written
}

const isExtended = ({ owner, beatAt }: IndexedChain) => owner !== null && beatAt > Date.now() - ABANDONED_MS

async function readRows(
  table: SubjectTable,
  chain: string,
  from: number,
  upTo: number,
  isStopped: () => boolean,
): Promise<SubjectOfRow[]> {
  const rows: SubjectOfRow[] = []
  for (let after = from; after < upTo && !isStopped(); after += ROWS_AT_ONCE) {
    rows.push(...(await table.subjects(chain, after, Math.min(after + ROWS_AT_ONCE, upTo))))
    await pause(PAUSE_MS)
  }
  return rows
}
