import { setTimeout as pause } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import type { ConnectionPool } from './postgres-pool.ts'
import { isTransient, toPostgresUserError } from './postgres-user-error.ts'

const PAUSE_MS = 250

/** At the start, PostgreSQL may be starting too, or may not have a primary yet. */
export async function waitUntilReachable(
  url: string,
  pool: ConnectionPool,
  acquire: () => Promise<PoolClient>,
  waitMs: number,
): Promise<void> {
  const until = performance.now() + waitMs
  for (;;) {
    try {
      return (await acquire()).release()
    } catch (error) {
      if (!isTransient(error) || performance.now() + PAUSE_MS > until) {
        await pool.close()
        throw toPostgresUserError(url, error)
      }
      await pause(PAUSE_MS)
    }
  }
}
