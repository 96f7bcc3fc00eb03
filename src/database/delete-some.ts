import type { Database, Value } from './database.ts'

/**
 * Few enough that no request waits noticeably, and that a statement never meets its time limit, however much is due. In SQLite,
 * verifications wait for a step: 1000 rows of stored responses took 32 ms, because each is in a page of its own.
 */
export const ROWS_PER_STEP = 100
/**
 * In PostgreSQL no verification waits for a step. Each step reads again past the rows that were deleted since the last VACUUM,
 * so small steps would take longer and longer.
 */
const POSTGRES_ROWS = 1000

/** Deletes up to a step of the rows that are due. Call it again while it returns at least ROWS_PER_STEP. */
export function deleteSome(
  database: Database,
  table: string,
  where: string,
  ...values: readonly Value[]
): Promise<number> {
  return database.prepare(`DELETE FROM ${table} WHERE ${toSome(database, table, where)}`).run(...values)
}

/** The condition for a step of the rows that meet another one. */
export const toSome = ({ dialect }: Database, table: string, where: string): string =>
  dialect === 'postgres'
    ? `ctid = ANY(ARRAY(
        SELECT ctid FROM ${table} WHERE ${where} LIMIT ${POSTGRES_ROWS} FOR UPDATE SKIP LOCKED))`
    : `rowid IN (SELECT rowid FROM ${table} WHERE ${where} LIMIT ${ROWS_PER_STEP})`
