import { HOUR_MS } from '../contract/time.ts'
import type { Database, Row } from '../database/database.ts'

/** Which block: the process that wrote it, and the number of its first line. */
export type BlockId = { readonly owner: string; readonly first: number }

/** What is known about a block without reading its lines. */
export type BlockHead = BlockId & {
  readonly fromAt: number
  readonly toAt: number
  /** How many requests. */
  readonly requests: number
  /** One line for each kind of request, with the number of them; see requests/line.ts. */
  readonly counts: string
}

/** `filter`: which ids and references it may have; see block-store.ts. */
export type NewBlock = BlockHead & { readonly lines: Uint8Array; readonly filter: Uint8Array }

/** The filter, if it was asked for and the block has one. */
export type ListedBlock = BlockHead & { readonly filter?: Uint8Array | undefined }

/** Blocks whose last line is not before `from` and whose first line is not after `until`. */
type BlockRange = {
  readonly from: number
  readonly until: number
  /** Continues after this block. */
  readonly after?: Pick<BlockHead, 'toAt' | 'owner' | 'first'> | undefined
  readonly most: number
  readonly withFilters?: boolean
}

export type RequestTable = {
  /** Adds blocks, and removes those whose lines they repeat. */
  readonly append: (blocks: readonly NewBlock[], replaced: readonly BlockId[]) => Promise<void>
  /** The newest first, by their last line. */
  readonly list: (range: BlockRange) => Promise<ListedBlock[]>
  /** Undefined if the block was removed. It may have more requests than when it was listed: see `append`. */
  readonly read: (id: BlockId) => Promise<Omit<NewBlock, 'filter'> | undefined>
  /** How many requests the log has. */
  readonly count: () => Promise<number>
  /** Deletes a few of the blocks that end before a time, or that are the oldest of more than `mostRequests`. Returns how many. */
  readonly deleteExpired: (before: number, mostRequests: number) => Promise<number>
}

/** Blocks are large: few enough that no request waits for their removal. */
export const BLOCKS_PER_STEP = 50

const HEAD = 'owner, first, from_at, to_at, requests, counts'

export function createRequestTable(database: Database): RequestTable {
  const prepareList = (columns: string) =>
    database.prepare(
      `SELECT ${columns} FROM request_blocks
     WHERE to_at >= $1 AND from_at <= $2 AND to_at <= $3 AND (to_at, owner, first) < ($3, $4, $5)
     ORDER BY to_at DESC, owner DESC, first DESC LIMIT $6`,
    )
  const [list, listFilters] = [prepareList(HEAD), prepareList(`${HEAD}, filter`)]
  const read = database.prepare(`SELECT ${HEAD}, lines FROM request_blocks WHERE owner = $1 AND first = $2`)
  const total = database.prepare('SELECT COALESCE(SUM(requests), 0) AS total FROM request_blocks')
  const oldest = database.prepare(
    `SELECT owner, first, to_at, requests FROM request_blocks ORDER BY to_at LIMIT ${BLOCKS_PER_STEP}`,
  )
  const count = async () => Number((await total.get())?.total)
  return {
    append: (blocks, replaced) => database.transaction((tx) => append(tx, blocks, replaced)),
    list: async ({ from, until, after, most, withFilters = false }) => {
      const { toAt, owner, first } = after ?? toNewest(until)
      const rows = await (withFilters ? listFilters : list).all(from, until, toAt, owner, first, most)
      return rows.map((row) => (withFilters ? { ...toHead(row), filter: toFilter(row) } : toHead(row)))
    },
    read: async ({ owner, first }) => {
      const row = await read.get(owner, first)
      return row && { ...toHead(row), lines: row.lines as Uint8Array }
    },
    count,
    deleteExpired: async (before, mostRequests) => {
      let excess = (await count()) - mostRequests
      const due = (await oldest.all()).filter((row) => {
        if (Number(row.to_at) >= before && excess <= 0) return false
        excess -= Number(row.requests)
        return true
      })
      if (due.length === 0) return 0
      return database.transaction((tx) => remove(tx, due.map(toId)))
    },
  }
}

/** After every block that begins before a time. */
const toNewest = (until: number) => ({
  toAt: Math.min(until + 2 * HOUR_MS, Number.MAX_SAFE_INTEGER),
  owner: '',
  first: 0,
})

async function append(
  tx: Database,
  blocks: readonly NewBlock[],
  replaced: readonly BlockId[],
): Promise<void> {
  await remove(tx, replaced)
  await tx
    .prepare(
      `INSERT INTO request_blocks (${HEAD}, lines, filter) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (owner, first) DO NOTHING`,
    )
    .runAll(
      blocks.map(({ owner, first, fromAt, toAt, requests, counts, lines, filter }) => [
        owner,
        first,
        fromAt,
        toAt,
        requests,
        counts,
        lines,
        filter,
      ]),
    )
}

const remove = (tx: Database, ids: readonly BlockId[]): Promise<number> =>
  tx
    .prepare('DELETE FROM request_blocks WHERE owner = $1 AND first = $2')
    .runAll(ids.map(({ owner, first }) => [owner, first]))

const toId = ({ owner, first }: Row): BlockId => ({ owner: String(owner), first: Number(first) })

const toHead = (row: Row): BlockHead => ({
  ...toId(row),
  fromAt: Number(row.from_at),
  toAt: Number(row.to_at),
  requests: Number(row.requests),
  counts: String(row.counts),
})

const toFilter = ({ filter }: Row) => (filter === null ? undefined : (filter as Uint8Array))
