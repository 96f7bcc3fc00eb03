import { steadyNow } from '../contract/time.ts'
import type { Database } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import {
  bytes,
  defineColumns,
  named,
  number,
  type Reader,
  type RowOf,
  text,
} from '../database/define-table.ts'

/** What stays of an erasure: keyed hashes of the number, as each table knows it. */
const TOMBSTONE = defineColumns({
  id: text(),
  /** `vnin`: a virtual NIN. */
  kind: text(),
  record: bytes(),
  reusedResult: named('reused', bytes()),
  /** As in the audit log. */
  subject: bytes(),
  /** By the clock that all nodes share. */
  erasedAt: number(),
})
export type Tombstone = RowOf<typeof TOMBSTONE>

/** After this row. */
export type TombstonePosition = Pick<Tombstone, 'erasedAt' | 'id'>

/** Longer than any verification takes. */
export const IN_FLIGHT_MS = 60_000

export function createTombstoneReads(database: Reader) {
  const list = database.prepare(
    `SELECT ${TOMBSTONE.names} FROM erasures WHERE (erased_at, id) > ($1, $2) ORDER BY erased_at, id LIMIT $3`,
  )
  const find = database.prepare(
    `SELECT ${TOMBSTONE.names} FROM erasures WHERE subject = $1 ORDER BY erased_at`,
  )
  return {
    /** The next ones from a time on, in the order of time and id. */
    listTombstones: async ({ erasedAt, id }: TombstonePosition, most: number) =>
      (await list.all(erasedAt, id, most)).map(TOMBSTONE.decode),
    findTombstones: async (subject: Uint8Array) => (await find.all(subject)).map(TOMBSTONE.decode),
  }
}

/** Returns the time of the erasure. */
export async function insertTombstone(
  tx: Database,
  { id, kind, record, reusedResult, subject }: Omit<Tombstone, 'erasedAt'>,
): Promise<number> {
  const row = await tx
    .prepare(
      `INSERT INTO erasures (${TOMBSTONE.names}) VALUES ($1, $2, $3, $4, $5, ${toSharedNow(tx, 'CAST($6 AS BIGINT)')})
       RETURNING erased_at`,
    )
    .get(id, kind, record, reusedResult, subject, steadyNow())
  return Number(row?.erased_at)
}

/** Of an erasure that took place before, perhaps in another copy of the database. False if it is known here. */
export async function insertEarlierTombstone(tx: Database, tombstone: Tombstone): Promise<boolean> {
  const inserted = await tx
    .prepare(
      `INSERT INTO erasures (${TOMBSTONE.names}) VALUES (${TOMBSTONE.places}) ON CONFLICT (id) DO NOTHING`,
    )
    .run(...TOMBSTONE.encode(tombstone))
  return inserted > 0
}

/** Whether the person was erased while a verification that ends now may have been running. */
export async function wasJustErased(tx: Database, subject: Uint8Array): Promise<boolean> {
  const found = await tx
    .prepare(
      `SELECT 1 FROM erasures WHERE subject = $1 AND erased_at > ${toSharedNow(tx, 'CAST($2 AS BIGINT)')} - ${IN_FLIGHT_MS}`,
    )
    .get(subject, steadyNow())
  return found !== undefined
}
