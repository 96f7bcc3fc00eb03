import type { Database } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import { defineTable, type TableOf } from '../database/define-table.ts'
import { deleteSome } from '../database/delete-some.ts'

type LeaseRequest = {
  readonly keyId: string
  readonly limit: number
  readonly wanted: number
  /** Requests that were answered without a lease, to be counted first. */
  readonly owed: number
}

export type RateLease = {
  readonly tokens: number
  /** What is left of the minute for all nodes. */
  readonly left: number
  readonly endsInMs: number
  /** Names the minute. */
  readonly endsAt: number
}

export type UnusedLease = { readonly keyId: string; readonly endsAt: number; readonly tokens: number }

export const WINDOW_MS = 60_000

/**
 * A minute that ends later than this is of a clock that was ahead. More than one minute, because leases at the same moment are
 * not written in the order of their times.
 */
const LATEST_END_MS = 2 * WINDOW_MS

/** Requests of each key in its current minute, over all nodes. */
export const rateTable = defineTable({
  writes: (database) => {
    const lease = database.prepare(toLease(database))
    return {
      /** Takes what is wanted, or what is left. All leases of a minute together never exceed the limit. */
      lease: async ({ keyId, limit, wanted, owed }: LeaseRequest, now: number): Promise<RateLease> => {
        const row = await lease.get(keyId, now, limit, owed, wanted)
        return {
          tokens: Number(row?.granted),
          left: limit - Number(row?.used),
          endsInMs: Number(row?.ends_in_ms),
          endsAt: Number(row?.ends_at),
        }
      },
      /** Gives back what was not used, if its minute still runs. */
      giveBack: (unused: readonly UnusedLease[]) =>
        database.transaction(async (tx) => {
          const give = tx.prepare(
            'UPDATE rate_windows SET used = used - $3 WHERE key_id = $1 AND ends_at = $2 AND used >= $3',
          )
          // In one order, so that nodes do not wait for each other in a circle.
          const sorted = unused.toSorted((one, other) => (one.keyId < other.keyId ? -1 : 1))
          for (const { keyId, endsAt, tokens } of sorted) await give.run(keyId, endsAt, tokens)
        }),
      deleteExpired: (now: number) =>
        deleteSome(database, 'rate_windows', `ends_at <= ${toSharedNow(database, '$1')}`, now),
    }
  },
})
export type RateTable = TableOf<typeof rateTable>

/** One statement, so concurrent leases of a key follow each other. */
function toLease(database: Database): string {
  const least = database.dialect === 'postgres' ? 'LEAST' : 'MIN'
  const now = toSharedNow(database, '$2')
  const [limit, owed, wanted] = ['$3', '$4', '$5'].map((parameter) => `CAST(${parameter} AS BIGINT)`)
  const isOver = `(w.ends_at <= ${now} OR w.ends_at > ${now} + ${LATEST_END_MS})`
  const before = `(CASE WHEN ${isOver} THEN 0 ELSE w.used END)`
  const toUsed = (used: string) => `${least}(${limit}, ${used} + ${owed} + ${wanted})`
  const toGranted = (used: string) => `${toUsed(used)} - ${least}(${limit}, ${used} + ${owed})`
  return `INSERT INTO rate_windows AS w (key_id, ends_at, used, granted)
    VALUES ($1, ${now} + ${WINDOW_MS}, ${toUsed('0')}, ${toGranted('0')})
    ON CONFLICT (key_id) DO UPDATE SET used = ${toUsed(before)}, granted = ${toGranted(before)},
      ends_at = CASE WHEN ${isOver} THEN excluded.ends_at ELSE w.ends_at END
    RETURNING granted, used, ends_at, ends_at - ${now} AS ends_in_ms`
}
