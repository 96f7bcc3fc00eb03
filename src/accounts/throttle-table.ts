import { DAY_MS, HOUR_MS } from '../contract/time.ts'
import type { Database } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import { defineTable, type TableOf } from '../database/define-table.ts'
import { deleteSome } from '../database/delete-some.ts'

/** A count of failures. */
type FailureCounter = {
  /** With `KEPT` before it for a counter that only a signed-in account, or a right password, creates. */
  readonly id: string
  /** The counts that `reset` deletes together. */
  readonly account: string | undefined
  /** Failures without a wait. */
  readonly free: number
  readonly maxWaitMs: number
}

/** When the attempt was counted, or how long the next one must wait. */
type Begun = { readonly waitMs: number; readonly at: number }

type Count = { readonly failures: number; readonly waitUntil: number }

const FIRST_WAIT_MS = 1000
/** Such counters last longer, and are never deleted to make room: strangers could make so many others that they go. */
export const KEPT = 'kept:'
/** A counter starts anew after this time without a failure. */
const LIFE_MS = HOUR_MS
const KEPT_LIFE_MS = DAY_MS
/** Beyond these, the counters with the oldest failure are deleted. */
const MAX_COUNTERS = 10_000

const NONE: Count = { failures: 0, waitUntil: 0 }

/** Counts of wrong passwords and codes, shared by all nodes. */
export const throttleTable = defineTable({
  writes: (database) => {
    const change = <T>(work: (tx: Database) => Promise<T>) =>
      database.transaction(async (tx) => {
        // Attempts on all nodes follow each other: each is counted before the next is judged.
        await tx.lock('sign-in')
        return work(tx)
      })
    return {
      /** Counts one failure more on every counter; or, during a wait, counts nothing. */
      begin: (counters: readonly FailureCounter[], now: number) =>
        change((tx) => beginAttempt(tx, counters, now)),
      /** Starts the waits anew. */
      fail: (counters: readonly FailureCounter[], processNow: number) =>
        change(async (tx) => {
          const now = await readNow(tx, processNow)
          const counts = await readCounts(tx, counters, now)
          for (const [index, counter] of counters.entries())
            await write(tx, counter, (counts[index] ?? NONE).failures, now)
        }),
      /** Takes the failure that was counted `at` this time off, and ends the wait unless another attempt came since. */
      takeOff: (counters: readonly FailureCounter[], at: number) => change((tx) => takeOff(tx, counters, at)),
      /** Deletes the first, and takes one failure off the others. */
      succeed: ([first, ...others]: readonly FailureCounter[], at: number) =>
        change(async (tx) => {
          if (first) await tx.prepare('DELETE FROM sign_in_failures WHERE id = $1').run(first.id)
          await takeOff(tx, others, at)
        }),
      reset: async (account: string) => {
        await database.prepare('DELETE FROM sign_in_failures WHERE account = $1').run(account)
      },
      // Also one that a clock which was ahead has written.
      deleteExpired: (now: number) => {
        const shared = toSharedNow(database, '$1')
        const life = `CASE WHEN id LIKE '${KEPT}%' THEN ${KEPT_LIFE_MS} ELSE ${LIFE_MS} END`
        const isOver = `at <= ${shared} - ${life} OR at > ${shared} + ${LIFE_MS}`
        return deleteSome(database, 'sign_in_failures', isOver, now)
      },
    }
  },
})
export type ThrottleTable = TableOf<typeof throttleTable>

async function beginAttempt(
  tx: Database,
  counters: readonly FailureCounter[],
  processNow: number,
): Promise<Begun> {
  const now = await readNow(tx, processNow)
  const counts = await readCounts(tx, counters, now)
  const waitMs = Math.max(...counts.map(({ waitUntil }) => waitUntil - now))
  if (waitMs > 0) return { waitMs, at: now }
  for (const [index, counter] of counters.entries())
    await write(tx, counter, (counts[index] ?? NONE).failures + 1, now)
  await evict(tx)
  return { waitMs: 0, at: now }
}

async function readNow(tx: Database, processNow: number): Promise<number> {
  const row = await tx
    .prepare(`SELECT CAST(${toSharedNow(tx, 'CAST($1 AS BIGINT)')} AS BIGINT) AS now`)
    .get(processNow)
  return Number(row?.now)
}

async function readCounts(tx: Database, counters: readonly FailureCounter[], now: number): Promise<Count[]> {
  const select = tx.prepare('SELECT failures, wait_until, at FROM sign_in_failures WHERE id = $1')
  const counts: Count[] = []
  for (const { id } of counters) {
    const row = await select.get(id)
    const [failures, waitUntil, at] = [row?.failures, row?.wait_until, row?.at].map(Number)
    const lifeMs = id.startsWith(KEPT) ? KEPT_LIFE_MS : LIFE_MS
    if (!row || now - Number(at) >= lifeMs) counts.push(NONE)
    // The clock was ahead when it was written, so the end of the wait is unknown.
    else counts.push({ failures: Number(failures), waitUntil: Number(at) > now ? 0 : Number(waitUntil) })
  }
  return counts
}

async function write(tx: Database, counter: FailureCounter, failures: number, now: number) {
  await tx
    .prepare(
      `INSERT INTO sign_in_failures (id, account, failures, wait_until, at) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (id) DO UPDATE SET failures = excluded.failures, wait_until = excluded.wait_until, at = excluded.at`,
    )
    .run(counter.id, counter.account ?? null, failures, now + toWait(counter, failures), now)
}

/** The wait is 1, 2, 4 … seconds, up to the maximum of the counter. */
const toWait = ({ free, maxWaitMs }: FailureCounter, failures: number) =>
  failures < free ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (failures - free), maxWaitMs)

/** A wait that a later attempt has started stays: else a right sign-in would end the wait of guesses at other accounts. */
async function takeOff(tx: Database, counters: readonly FailureCounter[], at: number): Promise<void> {
  for (const { id } of counters)
    await tx
      .prepare(
        `UPDATE sign_in_failures SET failures = failures - 1, wait_until = CASE WHEN at = $2 THEN 0 ELSE wait_until END
         WHERE id = $1 AND failures > 0`,
      )
      .run(id, at)
}

async function evict(tx: Database): Promise<void> {
  await tx
    .prepare(
      `DELETE FROM sign_in_failures WHERE id NOT LIKE '${KEPT}%'
       AND at <= (SELECT at FROM sign_in_failures ORDER BY at DESC LIMIT 1 OFFSET ${MAX_COUNTERS})`,
    )
    .run()
}
