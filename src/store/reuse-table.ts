import type { Database } from './database.ts'

/** Verified results of vendors that may be used again for a time. Subjects are keyed hashes, results are sealed. */
export type ReuseTable = {
  readonly find: (subject: Uint8Array, now: number) => Promise<Uint8Array | undefined>
  readonly keep: (subject: Uint8Array, sealed: Uint8Array, expiresAt: number) => Promise<void>
  /** Whether anything is kept, too old or not. */
  readonly has: (subject: Uint8Array) => Promise<boolean>
  /** False when there was nothing. */
  readonly erase: (subject: Uint8Array) => Promise<boolean>
  readonly forget: (now: number) => Promise<void>
}

export function createReuseTable(database: Database): ReuseTable {
  const find = database.prepare('SELECT sealed FROM reused_results WHERE subject = $1 AND expires_at > $2')
  const kept = database.prepare('SELECT expires_at FROM reused_results WHERE subject = $1')
  return {
    find: async (subject, now) => (await find.get(subject, now))?.sealed as Uint8Array | undefined,
    keep: async (subject, sealed, expiresAt) => {
      await database
        .prepare(
          `INSERT INTO reused_results (subject, sealed, expires_at) VALUES ($1, $2, $3)
           ON CONFLICT (subject) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at`,
        )
        .run(subject, sealed, expiresAt)
    },
    has: async (subject) => (await kept.get(subject)) !== undefined,
    erase: async (subject) =>
      (await database.prepare('DELETE FROM reused_results WHERE subject = $1').run(subject)) > 0,
    forget: async (now) => {
      await database.prepare('DELETE FROM reused_results WHERE expires_at <= $1').run(now)
    },
  }
}
