import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LoggedRow } from '../store/audit-row.ts'
import type { AuditTable } from '../store/audit-table.ts'

/** Position of a scan: the oldest time reached, its chain, and the last row read of that chain. */
export type ScanPosition = { readonly time: string; readonly chain: string; readonly sequence: number }

export type Step = { readonly row: LoggedRow; readonly position: ScanPosition }

type ReverseScanRange = {
  /** Continues after this position. */
  readonly before?: ScanPosition | undefined
  /** Skips rows later than `to` and stops at rows earlier than `from`, as far as the order of rows allows. */
  readonly to?: string | undefined
  readonly from?: string | undefined
}

export type ReverseScanTable = Pick<AuditTable, 'chains' | 'head' | 'pageBack' | 'timeFrom' | 'lastUntil'>

/** Within a chain, a row can be earlier than the row before it by at most this much. */
const DISORDER_MS = 60_000
const FIRST_BLOCK = 64
const LARGEST_BLOCK = 512
const RANGE_ROWS = 5000

/**
 * The rows of all chains, newest first. There is no index on time: each chain is read backwards by its key, and the chains are
 * merged by time. A page costs the same in a log of a thousand rows and of a hundred million.
 */
export async function* scanBackwards(
  table: ReverseScanTable,
  { before, to, from }: ReverseScanRange,
): AsyncIterable<Step> {
  const oldest = from === undefined ? '' : shift(from, -DISORDER_MS)
  const queue: Reader[] = []
  for (const { chain } of await table.chains()) {
    const reader = createReader(table, chain, await findStart(table, chain, before, to))
    await advance(queue, reader, oldest)
  }
  let lowest: Pick<ScanPosition, 'time' | 'chain'> | undefined = before
  for (;;) {
    const reader = queue.shift()
    const row = reader?.row
    if (!reader || !row) return
    // A row later than the one before it does not move the position back.
    if (!lowest || isAfter(row, lowest)) lowest = row
    yield { row, position: { time: lowest.time, chain: lowest.chain, sequence: row.sequence } }
    await advance(queue, reader, oldest)
  }
}

/** Whether the first comes later in a scan: it is earlier in time, or its chain has a lower name at the same time. */
const isAfter = (row: Pick<ScanPosition, 'time' | 'chain'>, other: Pick<ScanPosition, 'time' | 'chain'>) =>
  row.time < other.time || (row.time === other.time && row.chain < other.chain)

type Reader = { row: LoggedRow | undefined; readonly read: () => Promise<LoggedRow | undefined> }

/** Reads the next row of a chain and inserts the chain into the queue, sorted by time. A finished chain is dropped. */
async function advance(queue: Reader[], reader: Reader, oldest: string): Promise<void> {
  const row = await reader.read()
  reader.row = row
  if (!row || row.time < oldest) return
  const index = queue.findIndex((other) => other.row && isAfter(other.row, row))
  queue.splice(index === -1 ? queue.length : index, 0, reader)
}

function createReader(table: ReverseScanTable, chain: string, start: number): Reader {
  let before = start
  let size = FIRST_BLOCK
  let block: Iterator<LoggedRow> = [].values()
  const read = async (): Promise<LoggedRow | undefined> => {
    const next = block.next()
    if (!next.done) return next.value
    // SQLite answers synchronously: let other work run between two blocks.
    await nextTurn()
    const rows = await table.pageBack(chain, before, size)
    before = rows.at(-1)?.sequence ?? before
    size = Math.min(size * 2, LARGEST_BLOCK)
    block = rows.values()
    return block.next().value
  }
  return { row: undefined, read }
}

/** The sequence before which a chain is read. */
async function findStart(
  table: ReverseScanTable,
  chain: string,
  before: ScanPosition | undefined,
  to: string | undefined,
): Promise<number> {
  if (before?.chain === chain) return before.sequence
  // Of rows with the same time, those of the chain with the higher name come first.
  if (before)
    return 1 + (await findLast(table, chain, chain > before.chain ? shift(before.time, -1) : before.time))
  return to === undefined ? Number.MAX_SAFE_INTEGER : 1 + (await findLast(table, chain, to))
}

/** The last row of a chain that is not later than a time; 0 when all rows are later. */
async function findLast(table: ReverseScanTable, chain: string, time: string): Promise<number> {
  const surelyLater = shift(time, DISORDER_MS)
  let low = 0
  let high = ((await table.head(chain))?.sequence ?? 0) + 1
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const found = await table.timeFrom(chain, middle)
    if (!found || found.time > surelyLater) high = middle
    else low = middle
  }
  for (let before = high; before > 1; before -= RANGE_ROWS) {
    const found = await table.lastUntil(chain, { from: before - RANGE_ROWS, before }, time)
    if (found !== undefined) return found
    await nextTurn()
  }
  return 0
}

/** Times are compared as text, so years have four digits. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')

export const toComparable = (ms: number) => new Date(Math.min(Math.max(ms, FIRST_MS), LAST_MS)).toISOString()

const shift = (time: string, ms: number) => toComparable(Date.parse(time) + ms)
