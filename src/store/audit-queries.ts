import type { LoggedRow } from './audit-row.ts'
import type { Database } from './database.ts'

/** Reads the log backwards in bounded pages, by the existing indexes. */
export type AuditQueries = {
  /** The rows of a chain before a sequence, the newest first. */
  readonly pageBack: (chain: string, before: number, most: number) => Promise<LoggedRow[]>
  /** Time of the row with this sequence, or of the first row after it. */
  readonly timeFrom: (
    chain: string,
    sequence: number,
  ) => Promise<Pick<LoggedRow, 'sequence' | 'time'> | undefined>
  /** The highest sequence in a range (`from` included, `before` excluded) whose row is not later than a time. */
  readonly lastUntil: (
    chain: string,
    range: { readonly from: number; readonly before: number },
    time: string,
  ) => Promise<number | undefined>
}

export function createAuditQueries(database: Database, columns: string): AuditQueries {
  const pageBack = database.prepare(
    `SELECT ${columns} FROM audit WHERE chain = $1 AND sequence < $2 ORDER BY sequence DESC LIMIT $3`,
  )
  const timeFrom = database.prepare(
    'SELECT sequence, time FROM audit WHERE chain = $1 AND sequence >= $2 ORDER BY sequence LIMIT 1',
  )
  const lastUntil = database.prepare(
    `SELECT sequence FROM audit WHERE chain = $1 AND sequence >= $2 AND sequence < $3 AND time <= $4
     ORDER BY sequence DESC LIMIT 1`,
  )
  return {
    pageBack: async (chain, before, most) => (await pageBack.all(chain, before, most)) as LoggedRow[],
    timeFrom: async (chain, sequence) => {
      const row = await timeFrom.get(chain, sequence)
      return row && { sequence: Number(row.sequence), time: String(row.time) }
    },
    lastUntil: async (chain, { from, before }, time) => {
      const row = await lastUntil.get(chain, from, before, time)
      return row && Number(row.sequence)
    },
  }
}
