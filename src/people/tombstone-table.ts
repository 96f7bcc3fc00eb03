import { steadyNow } from '../contract/time.ts'
import type { Database, Row } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'

/** What stays of an erasure: keyed hashes of the number, as each table knows it. */
export type Tombstone = {
  readonly id: string
  /** `vnin`: a virtual NIN. */
  readonly kind: string
  readonly record: Uint8Array
  readonly reusedResult: Uint8Array
  /** As in the audit log. */
  readonly subject: Uint8Array
  /** By the clock that all nodes share. */
  readonly erasedAt: number
}

export type TombstoneTable = {
  /** The next ones from a time on, in the order of time and id. */
  readonly listTombstones: (from: TombstonePosition, most: number) => Promise<Tombstone[]>
  readonly findTombstones: (subject: Uint8Array) => Promise<Tombstone[]>
}

/** After this row. */
export type TombstonePosition = Pick<Tombstone, 'erasedAt' | 'id'>

const COLUMNS = 'id, kind, record, reused, subject, erased_at'

/** Longer than any verification takes. */
export const IN_FLIGHT_MS = 60_000

export function createTombstoneTable(database: Database): TombstoneTable {
  return {
    listTombstones: async ({ erasedAt, id }, most) => {
      const rows = await database
        .prepare(
          `SELECT ${COLUMNS} FROM erasures WHERE (erased_at, id) > ($1, $2) ORDER BY erased_at, id LIMIT $3`,
        )
        .all(erasedAt, id, most)
      return rows.map(toTombstone)
    },
    findTombstones: async (subject) => {
      const rows = await database
        .prepare(`SELECT ${COLUMNS} FROM erasures WHERE subject = $1 ORDER BY erased_at`)
        .all(subject)
      return rows.map(toTombstone)
    },
  }
}

const toTombstone = (row: Row): Tombstone => ({
  id: String(row.id),
  kind: String(row.kind),
  record: row.record as Uint8Array,
  reusedResult: row.reused as Uint8Array,
  subject: row.subject as Uint8Array,
  erasedAt: Number(row.erased_at),
})

/** Returns the time of the erasure. */
export async function insertTombstone(
  tx: Database,
  { id, kind, record, reusedResult, subject }: Omit<Tombstone, 'erasedAt'>,
): Promise<number> {
  const row = await tx
    .prepare(
      `INSERT INTO erasures (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, ${toSharedNow(tx, 'CAST($6 AS BIGINT)')})
       RETURNING erased_at`,
    )
    .get(id, kind, record, reusedResult, subject, steadyNow())
  return Number(row?.erased_at)
}

/** Of an erasure that took place before, perhaps in another copy of the database. False if it is known here. */
export async function insertEarlierTombstone(tx: Database, tombstone: Tombstone): Promise<boolean> {
  const { id, kind, record, reusedResult, subject, erasedAt } = tombstone
  const inserted = await tx
    .prepare(`INSERT INTO erasures (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING`)
    .run(id, kind, record, reusedResult, subject, erasedAt)
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
