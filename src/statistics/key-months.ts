import type { Database, Row } from '../database/database.ts'

export type KeyMonth = {
  readonly month: string
  readonly key_id: string
  readonly mode: string
  readonly outcome: string
  readonly count: number
}

export type KeyMonthQueries = {
  /** Verifications of each key in each month (2026-11) from one to another, by outcome. */
  readonly monthsByKey: (from: string, to: string) => Promise<KeyMonth[]>
}

export function createKeyMonthQueries(database: Database): KeyMonthQueries {
  const months = database.prepare(
    `SELECT substr(at, 1, 7) AS month, key_id, mode, outcome, SUM(count) AS count FROM statistics
     WHERE span = 'day' AND at >= $1 AND at <= $2 GROUP BY 1, 2, 3, 4`,
  )
  return {
    monthsByKey: async (from, to) => (await months.all(`${from}-01`, `${to}-31`)).map(toKeyMonth),
  }
}

const toKeyMonth = (row: Row): KeyMonth => ({
  month: String(row.month),
  key_id: String(row.key_id),
  mode: String(row.mode),
  outcome: String(row.outcome),
  count: Number(row.count),
})
