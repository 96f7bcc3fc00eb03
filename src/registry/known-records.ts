import type { Database } from '../database/database.ts'
import { REFRESH_EVERY_MS } from './refresh-records.ts'
import type { SealedRecord } from './sealed-record.ts'

/** Records by what the registry has under their subjects. */
type KnownRecords = {
  /** Not there. */
  readonly fresh: readonly SealedRecord[]
  /** There, with other content. */
  readonly changed: readonly SealedRecord[]
  /** There, with the same content, and not refreshed since a day. */
  readonly old: readonly SealedRecord[]
}

/** A subject and a digest. */
const PAIR_BYTES = 64

/**
 * Looks each record up through the index. LIMIT keeps the planner from a join, which would read the whole registry: the plan
 * is made once, perhaps while the table was empty.
 */
const FIND = `SELECT place, found.digest <> substring($1::bytea FROM ${PAIR_BYTES} * place + 33 FOR 32) AS is_changed,
    found.updated_at < $3 AS is_old
  FROM generate_series(0, $2::int - 1) AS place CROSS JOIN LATERAL
    (SELECT digest, updated_at FROM registry
     WHERE subject = substring($1::bytea FROM ${PAIR_BYTES} * place + 1 FOR 32) LIMIT 1) AS found`

/** In PostgreSQL. The registry is locked, so that the answer holds until the end of the transaction. */
export async function findKnown(
  tx: Database,
  records: readonly SealedRecord[],
  at: number,
): Promise<KnownRecords> {
  const pairs = Buffer.concat(records.flatMap(({ subject, digest }) => [subject, digest]))
  const rows = await tx.prepare(FIND).all(pairs, records.length, at - REFRESH_EVERY_MS)
  if (rows.length === 0) return { fresh: records, changed: [], old: [] }
  const toRecord = ({ place }: { readonly place?: unknown }) => records[Number(place)] as SealedRecord
  const known = new Set(rows.map(toRecord))
  return {
    fresh: records.filter((record) => !known.has(record)),
    changed: rows.filter(({ is_changed: isChanged }) => isChanged).map(toRecord),
    old: rows.filter(({ is_changed: isChanged, is_old: isOld }) => isOld && !isChanged).map(toRecord),
  }
}
