import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AuditRow } from '../store/audit-row.ts'
import type { AuditTable } from '../store/audit-table.ts'

/** Where a walk through all chains stands: the oldest time it has come to, in which chain, and the last row of that chain. */
export type ScanPosition = { readonly time: string; readonly chain: string; readonly sequence: number }

export type Step = { readonly row: AuditRow; readonly position: ScanPosition }

export type ReverseScanRange = {
  /** Goes on behind this place. */
  readonly before?: ScanPosition | undefined
  /** Begins with rows that are not younger, ends with rows that are not older, as far as the order of rows tells. */
  readonly to?: string | undefined
  readonly from?: string | undefined
}

export type ReverseScanTable = Pick<AuditTable, 'chains' | 'head' | 'pageBack' | 'timeFrom' | 'lastUntil'>

/** Within a chain, no row is older by more than this than one that was written before it. */
const DISORDER_MS = 60_000
const FIRST_BLOCK = 64
const LARGEST_BLOCK = 512
const STRETCH = 5000

/**
 * The rows of all chains, the newest first. There is no index on time: each chain is read backwards by its key, and of their
 * next rows the youngest is taken, so that a page costs the same in a log of a thousand rows and of a hundred million.
 */
export async function* scanBackwards(
  table: ReverseScanTable,
  { before, to, from }: ReverseScanRange,
): AsyncIterable<Step> {
  const oldest = from === undefined ? '' : shift(from, -DISORDER_MS)
  const line: Reader[] = []
  for (const { chain } of await table.chains()) {
    const reader = createReader(table, chain, await findStart(table, chain, before, to))
    await advance(line, reader, oldest)
  }
  let lowest: Pick<ScanPosition, 'time' | 'chain'> | undefined = before
  for (;;) {
    const reader = line.shift()
    const row = reader?.row
    if (!reader || !row) return
    // A row that is younger than the one before it follows that one in its chain, so it does not move the place.
    if (!lowest || isAfter(row, lowest)) lowest = row
    yield { row, position: { time: lowest.time, chain: lowest.chain, sequence: row.sequence } }
    await advance(line, reader, oldest)
  }
}

/** Whether the first comes later in a walk: older, or in another chain at the same time. */
const isAfter = (row: Pick<ScanPosition, 'time' | 'chain'>, other: Pick<ScanPosition, 'time' | 'chain'>) =>
  row.time < other.time || (row.time === other.time && row.chain < other.chain)

type Reader = { row: AuditRow | undefined; readonly read: () => Promise<AuditRow | undefined> }

/** Takes the next row of a chain and puts the chain in its place in the line; a chain that is at its end leaves it. */
async function advance(line: Reader[], reader: Reader, oldest: string): Promise<void> {
  const row = await reader.read()
  reader.row = row
  if (!row || row.time < oldest) return
  const place = line.findIndex((other) => other.row && isAfter(other.row, row))
  line.splice(place === -1 ? line.length : place, 0, reader)
}

function createReader(table: ReverseScanTable, chain: string, start: number): Reader {
  let before = start
  let size = FIRST_BLOCK
  let block: Iterator<AuditRow> = [].values()
  const read = async (): Promise<AuditRow | undefined> => {
    const next = block.next()
    if (!next.done) return next.value
    // SQLite answers without a pause: others get their turn between two blocks.
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
  // Of rows with the same time, those of the chain with the higher name came first.
  if (before)
    return 1 + (await findLast(table, chain, chain > before.chain ? shift(before.time, -1) : before.time))
  return to === undefined ? Number.MAX_SAFE_INTEGER : 1 + (await findLast(table, chain, to))
}

/** The last row of a chain that is not younger than a time; 0 where all are. */
async function findLast(table: ReverseScanTable, chain: string, time: string): Promise<number> {
  const surelyYounger = shift(time, DISORDER_MS)
  let low = 0
  let high = ((await table.head(chain))?.sequence ?? 0) + 1
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const found = await table.timeFrom(chain, middle)
    if (!found || found.time > surelyYounger) high = middle
    else low = middle
  }
  for (let before = high; before > 1; before -= STRETCH) {
    const found = await table.lastUntil(chain, { from: before - STRETCH, before }, time)
    if (found !== undefined) return found
    await nextTurn()
  }
  return 0
}

/** Times are compared as text, so they stay within the years of four digits. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')

export const toComparable = (ms: number) => new Date(Math.min(Math.max(ms, FIRST_MS), LAST_MS)).toISOString()

const shift = (time: string, ms: number) => toComparable(Date.parse(time) + ms)
