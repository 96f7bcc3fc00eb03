import { AUDIT_COLUMNS, type AuditRow } from './audit-row.ts'
import { type CheckBatch, type CheckFacts, findRefused, type Refused } from './commit-check.ts'
import type { Database, Value } from './database.ts'
import type { ClaimId } from './idempotency-table.ts'
import { CHECK_VERIFICATIONS, retryIfStored, toCheckValues } from './postgres-checks.ts'
import { type ApplyChecks, createSqliteChecks } from './sqlite-checks.ts'
import { ADD_TALLY, type PackedTallies, toAddPackedTallies, unpackTallies } from './statistics-table.ts'

/**
 * Writes all rows, completions and tallies in one commit, with what the checks count; or nothing, if a check refuses a
 * verification.
 */
export type Append = (
  rows: PackedRows,
  completions: readonly Completion[],
  tallies?: PackedTallies,
  checks?: CheckBatch,
) => Promise<Appended>

export function createAppend(database: Database): Append {
  const applyChecks: ApplyChecks | undefined = database.sync && createSqliteChecks(database.sync)
  const isPostgres = database.dialect === 'postgres'
  return async (rows, completions, tallies = '[]', checks = undefined) => {
    const batch = { rows, completions, tallies, checks }
    // A single statement is its own transaction.
    return retryIfStored(() =>
      isPostgres && completions.length === 0
        ? appendPacked(database, batch)
        : database.transaction((inside) => appendInside(inside, batch, applyChecks)),
    )
  }
}

/** The first response under an Idempotency-Key, stored in the same commit as its audit rows. */
export type Completion = {
  readonly claim: ClaimId
  readonly sealed: Uint8Array
  /** Until when the response is kept. */
  readonly expiresAt: number
}

/** Rows as one JSON text: cheap to send to the writer thread, and PostgreSQL inserts the batch in one statement. */
type PackedRows = string

/** The values of each row in the order of its columns; hashes in hex. */
export const packRows = (rows: readonly AuditRow[]): PackedRows =>
  JSON.stringify(
    rows.map((row) =>
      AUDIT_COLUMNS.map((column) => (isHash(column) ? toHex(row[column] as Uint8Array) : row[column])),
    ),
  )

const isHash = (column: string) => column === 'previous_hash' || column === 'hash'
const toHex = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')

export type Appended = {
  /** If there are any, nothing was written. */
  readonly refused: Refused
  /** Indexes of the completions whose claim another request has taken: those are not written. */
  readonly late: readonly number[]
}

const APPENDED: Appended = { refused: [], late: [] }

const LIST = AUDIT_COLUMNS.join(', ')
const INSERT = `INSERT INTO audit (${LIST}) VALUES (${AUDIT_COLUMNS.map((_column, index) => `$${index + 1}`).join(', ')})`

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

function* unpackRows(rows: PackedRows): Generator<Value[]> {
  for (const values of JSON.parse(rows) as (string | number | null)[][])
    yield values.map((value, index) =>
      isHash(AUDIT_COLUMNS[index] ?? '') ? Buffer.from(value as string, 'hex') : value,
    )
}

type Batch = {
  readonly rows: PackedRows
  readonly completions: readonly Completion[]
  readonly tallies: PackedTallies
  readonly checks: CheckBatch | undefined
}

async function appendInside(
  inside: Database,
  batch: Batch,
  applyChecks: ApplyChecks | undefined,
): Promise<Appended> {
  const { rows, completions, tallies, checks } = batch
  if (inside.dialect === 'postgres') {
    const appended = await appendPacked(inside, batch)
    if (appended.refused.length > 0) return appended
  } else {
    const refused = checks ? (applyChecks?.(checks) ?? []) : []
    if (refused.length > 0) return { refused, late: [] }
    await inside.prepare(INSERT).runAll(unpackRows(rows))
    await inside.prepare(ADD_TALLY).runAll(unpackTallies(tallies))
  }
  return { refused: [], late: await complete(inside, completions) }
}

async function appendPacked(database: Database, { rows, tallies, checks }: Batch): Promise<Appended> {
  if (!checks) {
    await database.prepare(INSERT_PACKED).run(rows, tallies)
    return APPENDED
  }
  const row = await database.prepare(INSERT_CHECKED).get(rows, tallies, ...toCheckValues(checks))
  return row?.facts ? { refused: findRefused(checks, row.facts as CheckFacts), late: [] } : APPENDED
}

/** Stores responses whose Idempotency-Key was claimed before. Returns the indexes of those whose claim was lost. */
async function complete(inside: Database, completions: readonly Completion[]): Promise<number[]> {
  const store = inside.prepare(
    `UPDATE idempotency SET sealed = $5, expires_at = $6
     WHERE key_id = $1 AND operation = $2 AND name = $3 AND owner = $4`,
  )
  const late: number[] = []
  for (const [index, { claim, sealed, expiresAt }] of completions.entries()) {
    const { keyId, operation, name, owner } = claim
    if ((await store.run(keyId, operation, name, owner, sealed, expiresAt)) === 0) late.push(index)
  }
  return late
}
