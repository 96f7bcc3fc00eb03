import type { Database } from './database.ts'

/** A day, counted from 1970-01-01, and the bytes in use when it was last measured on that day. */
export type StorageSize = { readonly day: number; readonly bytes: number }

export type StorageTable = {
  /** Replaces the size of this day. Days before `oldest` are forgotten. */
  readonly record: (size: StorageSize, oldest: number) => Promise<void>
  /** The oldest first. */
  readonly list: (since: number) => Promise<StorageSize[]>
  /** Rows of the audit log that are in the database. */
  readonly countAuditRows: () => Promise<number>
  /** Bytes of a SQLite file that hold nothing; 0 in PostgreSQL. */
  readonly readFreeBytes: () => Promise<number>
}

/** By the last row of each chain: no row is read but these. */
const AUDIT_ROWS = `SELECT COALESCE(SUM((SELECT MAX(sequence) FROM audit WHERE audit.chain = audit_chains.chain)), 0) AS rows
  FROM audit_chains`
const RECORD = `INSERT INTO storage_sizes (day, bytes) VALUES ($1, $2)
  ON CONFLICT (day) DO UPDATE SET bytes = excluded.bytes`

export function createStorageTable(database: Database): StorageTable {
  const list = database.prepare('SELECT day, bytes FROM storage_sizes WHERE day >= $1 ORDER BY day')
  const count = database.prepare(AUDIT_ROWS)
  return {
    record: ({ day, bytes }, oldest) =>
      database.transaction(async (tx) => {
        await tx.prepare(RECORD).run(day, bytes)
        await tx.prepare('DELETE FROM storage_sizes WHERE day < $1').run(oldest)
      }),
    list: async (since) =>
      (await list.all(since)).map(({ day, bytes }) => ({ day: Number(day), bytes: Number(bytes) })),
    countAuditRows: async () => Number((await count.get())?.rows ?? 0),
    readFreeBytes: async () => {
      if (database.dialect === 'postgres') return 0
      const free = await database.prepare('SELECT freelist_count AS pages FROM pragma_freelist_count').get()
      const page = await database.prepare('SELECT page_size AS bytes FROM pragma_page_size').get()
      return Number(free?.pages ?? 0) * Number(page?.bytes ?? 0)
    },
  }
}
