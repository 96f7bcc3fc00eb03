import { defineTable, type TableOf } from '../database/define-table.ts'
import { deleteSome } from '../database/delete-some.ts'

/** Verified results of vendors that may be reused for a time. Subjects are keyed hashes, results are sealed. */
export const reuseTable = defineTable({
  reads: (database) => {
    const find = database.prepare(
      'SELECT sealed FROM reused_results WHERE subject = $1 AND expires_at > $2 AND length(sealed) > 0',
    )
    return {
      find: async (subject: Uint8Array, now: number) =>
        (await find.get(subject, now))?.sealed as Uint8Array | undefined,
    }
  },
  writes: (database) => {
    const keep = database.prepare(
      `INSERT INTO reused_results (subject, sealed, expires_at) VALUES ($1, $2, $3)
       ON CONFLICT (subject) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at
       WHERE length(reused_results.sealed) > 0 OR reused_results.expires_at <= $4`,
    )
    return {
      /** Stores nothing about a person who was just erased: the result may be older than the erasure. */
      keep: async (subject: Uint8Array, sealed: Uint8Array, expiresAt: number, now: number) =>
        void (await keep.run(subject, sealed, expiresAt, now)),
      /** Deletes some of what has expired; see delete-some.ts. */
      deleteExpired: (now: number) => deleteSome(database, 'reused_results', 'expires_at <= $1', now),
    }
  },
})
export type ReuseTable = TableOf<typeof reuseTable>
