import { HOUR_MS } from '../contract/time.ts'
import type { Database, Row } from '../database/database.ts'
import {
  bytes,
  defineColumns,
  defineTable,
  number,
  optional,
  type Reader,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'

const HEAD_COLUMNS = {
  /** The process that wrote it, and the number of its first line: both name the block. */
  owner: text(),
  first: number(),
  fromAt: number(),
  toAt: number(),
  /** How many requests. */
  requests: number(),
  /** One line for each kind of request, with the number of them; see requests/block-writer.ts. */
  counts: text(),
}
const HEAD = defineColumns(HEAD_COLUMNS)
/** The filter, if the block has one. */
const FILTERED = defineColumns({ ...HEAD_COLUMNS, filter: optional(bytes()) })
const WHOLE = defineColumns({ ...HEAD_COLUMNS, lines: bytes() })
/** `filter`: which ids and references it may have; see block-store.ts. */
const NEW = defineColumns({ ...HEAD_COLUMNS, lines: bytes(), filter: bytes() })

/** What is known about a block without reading its lines. */
export type BlockHead = RowOf<typeof HEAD>
export type BlockId = Pick<BlockHead, 'owner' | 'first'>
export type NewBlock = RowOf<typeof NEW>
/** The filter, if it was asked for. */
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

/** Blocks are large: few enough that no request waits for their removal. */
export const BLOCKS_PER_STEP = 50

export const requestTable = defineTable({
  reads: (database) => {
    const prepareList = (columns: string) =>
      database.prepare(
        `SELECT ${columns} FROM request_blocks
         WHERE to_at >= $1 AND from_at <= $2 AND to_at <= $3 AND (to_at, owner, first) < ($3, $4, $5)
         ORDER BY to_at DESC, owner DESC, first DESC LIMIT $6`,
      )
    const [list, listFiltered] = [prepareList(HEAD.names), prepareList(FILTERED.names)]
    const read = database.prepare(`SELECT ${WHOLE.names} FROM request_blocks WHERE owner = $1 AND first = $2`)
    return {
      /** The newest first, by their last line. */
      list: async ({ from, until, after, most, withFilters }: BlockRange): Promise<ListedBlock[]> => {
        const { toAt, owner, first } = after ?? toNewest(until)
        const rows = await (withFilters ? listFiltered : list).all(from, until, toAt, owner, first, most)
        return rows.map(withFilters ? FILTERED.decode : HEAD.decode)
      },
      /** Undefined if the block was removed. It may have more requests than when it was listed: see `append`. */
      read: async ({ owner, first }: BlockId) => WHOLE.decode(await read.get(owner, first)),
      /** How many requests the log has. */
      count: () => count(database),
    }
  },
  writes: (database) => ({
    /** Adds blocks, and removes those whose lines they repeat. */
    append: (blocks: readonly NewBlock[], replaced: readonly BlockId[]) =>
      database.transaction(async (tx) => {
        await remove(tx, replaced)
        await tx
          .prepare(
            `INSERT INTO request_blocks (${NEW.names}) VALUES (${NEW.places}) ON CONFLICT (owner, first) DO NOTHING`,
          )
          .runAll(blocks.map(NEW.encode))
      }),
    /** Deletes a few of the blocks that end before a time, or that are the oldest of more than `mostRequests`. Returns how many. */
    deleteExpired: async (before: number, mostRequests: number) => {
      let excess = (await count(database)) - mostRequests
      const oldest = await database.prepare(OLDEST).all()
      const due = oldest.filter((row) => {
        if (Number(row.to_at) >= before && excess <= 0) return false
        excess -= Number(row.requests)
        return true
      })
      return due.length === 0 ? 0 : database.transaction((tx) => remove(tx, due.map(toId)))
    },
  }),
})
export type RequestTable = TableOf<typeof requestTable>

const OLDEST = `SELECT owner, first, to_at, requests FROM request_blocks ORDER BY to_at LIMIT ${BLOCKS_PER_STEP}`

async function count(database: Reader): Promise<number> {
  const row = await database.prepare('SELECT COALESCE(SUM(requests), 0) AS total FROM request_blocks').get()
  return Number(row?.total)
}

/** After every block that begins before a time. */
const toNewest = (until: number) => ({
  toAt: Math.min(until + 2 * HOUR_MS, Number.MAX_SAFE_INTEGER),
  owner: '',
  first: 0,
})

const remove = (tx: Database, ids: readonly BlockId[]): Promise<number> =>
  tx
    .prepare('DELETE FROM request_blocks WHERE owner = $1 AND first = $2')
    .runAll(ids.map(({ owner, first }) => [owner, first]))

const toId = ({ owner, first }: Row): BlockId => ({ owner: String(owner), first: Number(first) })
