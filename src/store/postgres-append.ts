import type { Appended, AuditBatch, JsonRows } from './audit-batch.ts'
import { partitionOf } from './audit-months.ts'
import { AUDIT_COLUMNS, type AuditRow } from './audit-row.ts'
import { type CheckFacts, findRefused } from './commit-check.ts'
import type { Database } from './database.ts'
import { CHECK_VERIFICATIONS, toCheckValues } from './postgres-checks.ts'
import { packTallies, toAddPackedTallies } from './tally-rows.ts'

type JsonBatch = AuditBatch<JsonRows>

/** Appends in a single statement, which is its own transaction or a part of one. */
export async function appendJson(
  database: Database,
  { rows, tallies, checks }: JsonBatch,
): Promise<Appended> {
  const partition = partitionOf(rows.chain ?? '')
  const values = [rows.json, packTallies(tallies)]
  if (!checks) {
    await database.prepare(toInsert(partition)).run(...values)
    return APPENDED
  }
  const row = await database.prepare(toInsertIfPassed(partition)).get(...values, ...toCheckValues(checks))
  return row?.facts ? { refused: findRefused(checks, row.facts as CheckFacts), late: [] } : APPENDED
}

/** The values of each row in the order of its columns; hashes in hex. */
export const packJson = (rows: readonly AuditRow[]): JsonRows => ({
  json: JSON.stringify(
    rows.map((row) =>
      AUDIT_COLUMNS.map((column) => (isHash(column) ? toHex(row[column] as Uint8Array) : row[column])),
    ),
  ),
  chain: rows[0]?.chain,
})

const isHash = (column: string) => column === 'previous_hash' || column === 'hash'
const toHex = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')

const APPENDED: Appended = { refused: [], late: [] }

const LIST = AUDIT_COLUMNS.join(', ')
const toCell = (column: (typeof AUDIT_COLUMNS)[number]) =>
  toColumnOfJson(column, AUDIT_COLUMNS.indexOf(column))
const PREVIOUS = [toCell('chain'), `${toCell('sequence')} - 1`, toCell('previous_hash')] as const

/**
 * After a failover the database may lack the row before: the statement fails, and nothing is written. The row is looked for in
 * the partition of its chain, because PostgreSQL locks all partitions for a query of the whole table. A query with EXISTS
 * could be planned as a scan of the whole partition.
 */
function toRequirePrevious(partition: string): string {
  const [chain, sequence, hash] = PREVIOUS
  const find = `SELECT TRUE FROM ${partition} WHERE chain = ${chain} AND sequence = ${sequence} AND hash = ${hash}`
  return `CASE WHEN position > 1 OR (${find}) THEN TRUE ELSE require_audit_row(${PREVIOUS.join(', ')}) END`
}

/** PostgreSQL unpacks the batch itself: one round trip instead of one for each row. */
const toInsertJson = (rows: string, partition: string) =>
  `INSERT INTO audit (${LIST}) SELECT ${AUDIT_COLUMNS.map(toColumnOfJson).join(', ')}
  FROM jsonb_array_elements(${rows}::jsonb) WITH ORDINALITY AS batch(row, position)
  WHERE ${toRequirePrevious(partition)} ORDER BY position`

/** The same if all checks pass. The snapshot of the checks is their own, taken after their locks. */
const ifPassed = (parameter: string) =>
  `(CASE WHEN (SELECT facts IS NULL FROM checked) THEN ${parameter}::jsonb ELSE '[]'::jsonb END)`

const toInsert = memoize(
  (partition) => `WITH tallied AS (${toAddPackedTallies('$2')}) ${toInsertJson('$1', partition)}`,
)
const toInsertIfPassed = memoize(
  (partition) => `WITH checked AS MATERIALIZED (SELECT ${CHECK_VERIFICATIONS} AS facts),
  tallied AS (${toAddPackedTallies(ifPassed('$2'))}), appended AS (${toInsertJson(ifPassed('$1'), partition)})
  SELECT facts FROM checked`,
)

/** A process appends to few partitions. */
function memoize(build: (partition: string) => string): (partition: string) => string {
  const built = new Map<string, string>()
  return (partition) => built.get(partition) ?? built.set(partition, build(partition)).get(partition) ?? ''
}

function toColumnOfJson(column: string, index: number): string {
  const value = `row->>${index}`
  if (isHash(column)) return `decode(${value}, 'hex')`
  return column === 'sequence' || column === 'format' ? `(${value})::bigint` : value
}
