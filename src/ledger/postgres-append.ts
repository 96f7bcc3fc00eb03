import type { Database } from '../database/database.ts'
import type { Appended, AuditBatch, RecordRows } from './audit-batch.ts'
import { partitionOf } from './audit-months.ts'
import { AUDIT_COLUMNS, type AuditRow } from './audit-row.ts'
import { type CheckFacts, findRefused } from './commit-check.ts'
import { type EncodedRows, encodeRows, HASH_BYTES, TEXT_FIELDS } from './encoded-rows.ts'
import { toCheckValues, toCheckVerifications } from './postgres-checks.ts'
import {
  addBytes,
  addRecord,
  addSmallint,
  copyField,
  createRecords,
  OID,
  toArrayValue,
} from './postgres-records.ts'
import { packTallies, toAddPackedTallies } from './tally.ts'

/** Appends in a single statement, which is its own transaction or a part of one. */
export async function appendRecords(
  database: Database,
  { rows, tallies, checks }: AuditBatch<RecordRows>,
): Promise<Appended> {
  const { records, chain, previous } = rows
  const partition = partitionOf(chain)
  const values = [records, packTallies(tallies), chain, previous.sequence, previous.hash]
  if (!checks) {
    await database.prepare(toInsert(partition)).run(...values)
    return APPENDED
  }
  const row = await database.prepare(toInsertIfPassed(partition)).get(...values, ...toCheckValues(checks))
  return row?.facts ? { refused: findRefused(checks, row.facts as CheckFacts), late: [] } : APPENDED
}

const APPENDED: Appended = { refused: [], late: [] }

/** Type and length of each field, and the length of the record. */
const MAX_ADDED_BYTES = 8 * (AUDIT_COLUMNS.length + 1)

/** The fields as they were hashed, which have the lengths that PostgreSQL wants before each. */
export function packRecords(rows: readonly AuditRow[], encoded: EncodedRows = encodeRows(rows)): RecordRows {
  const source = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.length)
  const records = createRecords(rows.length, source.length + rows.length * MAX_ADDED_BYTES)
  let at = 0
  for (const { format, previous_hash, hash } of rows)
    addRecord(records, AUDIT_COLUMNS.length, () => {
      at += 1
      for (let field = 0; field < TEXT_FIELDS; field++) at = copyField(records, OID.text, source, at)
      at += 2 * HASH_BYTES
      addSmallint(records, format)
      addBytes(records, OID.bytea, previous_hash)
      addBytes(records, OID.bytea, hash)
    })
  const [first] = rows
  const previous = { sequence: (first?.sequence ?? 1) - 1, hash: first?.previous_hash ?? new Uint8Array(0) }
  return { records: toArrayValue(records), chain: first?.chain ?? '', previous }
}

const PREVIOUS = '$3::text, $4::bigint, $5::bytea'
const CHECKED = toCheckVerifications(6)

/**
 * After a failover the database may lack the row before: the statement fails, and nothing is written. The row is looked for in
 * the partition of its chain, because PostgreSQL locks all partitions for a query of the whole table. A query with EXISTS
 * could be planned as a scan of the whole partition.
 */
const toRequirePrevious = (partition: string) =>
  `CASE WHEN (SELECT TRUE FROM ${partition} WHERE (chain, sequence, hash) = (${PREVIOUS})) THEN TRUE
    ELSE require_audit_row(${PREVIOUS}) END`

const LIST = AUDIT_COLUMNS.join(', ')
const SELECTED = AUDIT_COLUMNS.map((column) => (column === 'sequence' ? 'sequence::bigint' : column)).join(
  ', ',
)

/** PostgreSQL unpacks the batch itself: one round trip instead of one for each row. The condition is evaluated once. */
const toInsertRecords = (condition: string) =>
  `INSERT INTO audit (${LIST}) SELECT ${SELECTED} FROM unnest($1::audit_entry[]) WHERE (SELECT ${condition})`

/** The snapshot of the checks is their own, taken after their locks. */
const HAVE_PASSED = '(SELECT facts IS NULL FROM checked)'

const toInsert = memoize(
  (partition) =>
    `WITH tallied AS (${toAddPackedTallies('$2')}) ${toInsertRecords(toRequirePrevious(partition))}`,
)
const toInsertIfPassed = memoize(
  (partition) => `WITH checked AS MATERIALIZED (SELECT ${CHECKED} AS facts),
  tallied AS (${toAddPackedTallies(`(CASE WHEN ${HAVE_PASSED} THEN $2::jsonb ELSE '[]'::jsonb END)`)}),
  appended AS (${toInsertRecords(`CASE WHEN ${HAVE_PASSED} THEN ${toRequirePrevious(partition)} ELSE FALSE END`)})
  SELECT facts FROM checked`,
)

/** A process appends to few partitions. */
function memoize(build: (partition: string) => string): (partition: string) => string {
  const built = new Map<string, string>()
  return (partition) => built.get(partition) ?? built.set(partition, build(partition)).get(partition) ?? ''
}
