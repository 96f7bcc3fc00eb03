import { HOUR_MS, MINUTE_MS } from '../contract/time.ts'
import type { LoggedRequest } from './line.ts'
import { type SearchTable, searchRequests } from './search.ts'

/** When an audit row was written, and when its verification began. */
export const toTimes = ({
  time,
  started_at,
}: {
  readonly time: string
  readonly started_at: string | null
}) => [time, ...(started_at === null ? [] : [started_at])]

/**
 * The requests of one verification that the log still has, oldest first: the first one, retries, and reads of its answer up to
 * an hour after its last audit row.
 */
export async function findRequestsOf(
  table: SearchTable,
  reference: string,
  times: readonly string[],
): Promise<LoggedRequest[]> {
  const known = times.map((time) => Date.parse(time)).filter((at) => !Number.isNaN(at))
  // A request is logged when its response has been sent, which is after its rows.
  const range = { from: Math.min(...known) - MINUTE_MS, until: Math.max(...known) + HOUR_MS }
  if (known.length === 0) return []
  const { rows } = await searchRequests(table, { reference, ...range }, undefined, { rows: 100, blocks: 500 })
  return rows.toReversed()
}
