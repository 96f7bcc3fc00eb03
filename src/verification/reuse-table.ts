import { defineTable, type TableOf } from '../database/define-table.ts'
import { deleteSome } from '../database/delete-some.ts'

/** Verified results of vendors that may be reused for a time. Subjects are keyed hashes, results are sealed. They are written with the outcome: see ledger/commit.ts. */
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
  writes: (database) => ({
    /** Deletes some of what has expired; see delete-some.ts. */
    deleteExpired: (now: number) => deleteSome(database, 'reused_results', 'expires_at <= $1', now),
  }),
})
export type ReuseTable = TableOf<typeof reuseTable>
