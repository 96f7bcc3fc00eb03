import type { Appended, AuditBatch } from './audit-batch.ts'
import { AUDIT_COLUMNS, type AuditRow } from './audit-row.ts'
import { type CheckFacts, findRefused } from './commit-check.ts'
import type { Database } from './database.ts'
import { CHECK_VERIFICATIONS, toCheckValues } from './postgres-checks.ts'
import { packTallies, toAddPackedTallies } from './statistics-table.ts'

type JsonBatch = AuditBatch<string>

/** Appends in a single statement, which is its own transaction or a part of one. */
export async function appendJson(database: Database, { rows, tallies, checks }: JsonBatch): Promise<Appended> {
  const packed = packTallies(tallies)
  if (!checks) {
    await database.prepare(INSERT_PACKED).run(rows, packed)
    return APPENDED
  }
  const row = await database.prepare(INSERT_CHECKED).get(rows, packed, ...toCheckValues(checks))
  return row?.facts ? { refused: findRefused(checks, row.facts as CheckFacts), late: [] } : APPENDED
}

/** The values of each row in the order of its columns; hashes in hex. */
export const toJson = (rows: readonly AuditRow[]): string =>
  JSON.stringify(
    rows.map((row) =>
      AUDIT_COLUMNS.map((column) => (isHash(column) ? toHex(row[column] as Uint8Array) : row[column])),
    ),
  )

const isHash = (column: string) => column === 'previous_hash' || column === 'hash'
const toHex = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')

const APPENDED: Appended = { refused: [], late: [] }

const LIST = AUDIT_COLUMNS.join(', ')
const toCell = (column: (typeof AUDIT_COLUMNS)[number]) =>
  toColumnOfJson(column, AUDIT_COLUMNS.indexOf(column))
/** After a failover the database may lack the row before: the statement fails, and nothing is written. */
const REQUIRE_PREVIOUS = `require_audit_row(${toCell('chain')}, ${toCell('sequence')} - 1, ${toCell('previous_hash')})`

/** PostgreSQL unpacks the batch itself: one round trip instead of one for each row. */
const toInsertPacked = (rows: string) =>
  `INSERT INTO audit (${LIST}) SELECT ${AUDIT_COLUMNS.map(toColumnOfJson).join(', ')}
  FROM jsonb_array_elements(${rows}::jsonb) WITH ORDINALITY AS batch(row, position)
  WHERE CASE WHEN position = 1 THEN ${REQUIRE_PREVIOUS} ELSE TRUE END ORDER BY position`
const INSERT_PACKED = `WITH tallied AS (${toAddPackedTallies('$2')}) ${toInsertPacked('$1')}`

/** The same if all checks pass. The snapshot of the checks is their own, taken after their locks. */
const ifPassed = (parameter: string) =>
  `(CASE WHEN (SELECT facts IS NULL FROM checked) THEN ${parameter}::jsonb ELSE '[]'::jsonb END)`
const INSERT_CHECKED = `WITH checked AS MATERIALIZED (SELECT ${CHECK_VERIFICATIONS} AS facts),
  tallied AS (${toAddPackedTallies(ifPassed('$2'))}), appended AS (${toInsertPacked(ifPassed('$1'))})
  SELECT facts FROM checked`

function toColumnOfJson(column: string, index: number): string {
  const value = `row->>${index}`
  if (isHash(column)) return `decode(${value}, 'hex')`
  return column === 'sequence' || column === 'format' ? `(${value})::bigint` : value
}

