import { setImmediate as nextTurn } from 'node:timers/promises'
import { monthOf, startOf } from '../ledger/audit-months.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'
import type { Chain } from './audit-chains.ts'
import type { AuditTable } from './audit-table.ts'

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
const MAX_BLOCK = 512
const RANGE_ROWS = 5000

/**
 * The rows of all chains, newest first. There is no index on time: each chain is read backwards by its key, and the chains are
 * merged by time. A page costs the same in a log of a thousand rows and of a hundred million. A chain that ended before is not
 * read until the scan has gone back that far, so that a page also costs the same after many months.
 */
export async function* scanBackwards(
  table: ReverseScanTable,
  { before, to, from }: ReverseScanRange,
): AsyncIterable<Step> {
  const oldest = from === undefined ? '' : shift(from, -DISORDER_MS)
  const queue: Reader[] = []
  const latest = before?.time ?? to
  const waiting = (await table.chains())
    .filter((chain) => !chain.isArchived && (latest === undefined || firstTime(chain) <= latest))
    .sort((one, other) => (lastTime(one) < lastTime(other) ? -1 : 1))
  const openReached = async () => {
    for (let next = waiting.at(-1); next && isReached(next, queue[0]?.row, oldest); next = waiting.at(-1)) {
      waiting.pop()
      const reader = createReader(table, next.chain, await findStart(table, next.chain, before, to))
      await advance(queue, reader, oldest)
    }
  }
  await openReached()
  let lowest: Pick<ScanPosition, 'time' | 'chain'> | undefined = before
  for (;;) {
    const reader = queue.shift()
    const row = reader?.row
    if (!reader || !row) return
    // A row later than the one before it does not move the position back.
    if (!lowest || isAfter(row, lowest)) lowest = row
    yield { row, position: { time: lowest.time, chain: lowest.chain, sequence: row.sequence } }
    await advance(queue, reader, oldest)
    await openReached()
  }
}

/** No row of the chain is later. */
const lastTime = ({ retiredAt }: Chain) =>
  toComparable(retiredAt === undefined ? Number.MAX_SAFE_INTEGER : retiredAt + DISORDER_MS)

/** No row of the chain is earlier. */
function firstTime({ chain }: Chain): string {
  const month = monthOf(chain)
  return month ? toComparable(startOf(month) - DISORDER_MS) : ''
}

/** Whether a chain may have the next row of the scan. */
const isReached = (chain: Chain, next: LoggedRow | undefined, oldest: string) =>
  lastTime(chain) >= (next?.time ?? oldest)

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
    size = Math.min(size * 2, MAX_BLOCK)
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
