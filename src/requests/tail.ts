import { steadyNow } from '../contract/time.ts'
import type { LoggedRequest } from './line.ts'
import { type RequestFilter, type SearchTable, searchRequests } from './search.ts'

type TailStep = {
  /** Oldest first. */
  readonly rows: readonly LoggedRequest[]
  /** There were more than are shown. */
  readonly isCut: boolean
}

/** The requests since the last call. */
type Tail = () => Promise<TailStep>

/** Processes write their lines every two seconds, one before the other: a line may come this much later than a newer one. */
const LATE_MS = 15_000
/** At more requests than this between two calls, only the newest are shown. */
const MOST_ROWS = 200
const MOST_BLOCKS = 40

/** Follows the log of all processes, from `begin` on. */
export function createTail(table: SearchTable, filter: RequestFilter, begin: number = steadyNow()): Tail {
  let shown = new Map<string, number>()
  return async () => {
    const from = Math.max(begin, steadyNow() - LATE_MS)
    const limits = { rows: MOST_ROWS, blocks: MOST_BLOCKS }
    const { rows, next } = await searchRequests(table, { ...filter, from }, undefined, limits)
    const isNew = (row: LoggedRequest) => !shown.has(row.row)
    const added = rows.filter(isNew).reverse()
    const isCut = next !== undefined && rows.every(isNew)
    shown = new Map([...shown].filter(([, at]) => at >= from))
    for (const { row, at } of rows) shown.set(row, at)
    return { rows: added, isCut }
  }
}
