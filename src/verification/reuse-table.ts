import type { Database } from '../database/database.ts'
import { deleteSome } from '../database/delete-some.ts'

/** Verified results of vendors that may be reused for a time. Subjects are keyed hashes, results are sealed. */
export type ReuseTable = {
  readonly find: (subject: Uint8Array, now: number) => Promise<Uint8Array | undefined>
  /** Stores nothing about a person who was just erased: the result may be older than the erasure. */
  readonly keep: (subject: Uint8Array, sealed: Uint8Array, expiresAt: number, now: number) => Promise<void>
  /** Deletes some of what has expired; see delete-some.ts. */
  readonly deleteExpired: (now: number) => Promise<number>
}

export function createReuseTable(database: Database): ReuseTable {
  const find = database.prepare(
    'SELECT sealed FROM reused_results WHERE subject = $1 AND expires_at > $2 AND length(sealed) > 0',
  )
  return {
    find: async (subject, now) => (await find.get(subject, now))?.sealed as Uint8Array | undefined,
    keep: async (subject, sealed, expiresAt, now) => {
      await database
        .prepare(
          `INSERT INTO reused_results (subject, sealed, expires_at) VALUES ($1, $2, $3)
           ON CONFLICT (subject) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at
           WHERE length(reused_results.sealed) > 0 OR reused_results.expires_at <= $4`,
        )
        .run(subject, sealed, expiresAt, now)
    },
    deleteExpired: (now) => deleteSome(database, 'reused_results', 'expires_at <= $1', now),
  }
}
