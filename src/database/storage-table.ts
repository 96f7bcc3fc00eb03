import { defineColumns, defineTable, number, type RowOf } from './define-table.ts'

const SIZE = defineColumns({ day: number(), bytes: number() })
/** A day, counted from 1970-01-01, and the bytes in use when it was last measured on that day. */
export type StorageSize = RowOf<typeof SIZE>

/** By the last row of each chain: no row is read but these. */
const AUDIT_ROWS = `SELECT COALESCE(SUM((SELECT MAX(sequence) FROM audit WHERE audit.chain = audit_chains.chain)), 0) AS rows
  FROM audit_chains`
const RECORD = `INSERT INTO storage_sizes (${SIZE.names}) VALUES (${SIZE.places})
  ON CONFLICT (day) DO UPDATE SET bytes = excluded.bytes`

export const storageTable = defineTable({
  reads: (database) => {
    const list = database.prepare(`SELECT ${SIZE.names} FROM storage_sizes WHERE day >= $1 ORDER BY day`)
    const count = database.prepare(AUDIT_ROWS)
    return {
      /** The oldest first. */
      list: async (since: number) => (await list.all(since)).map(SIZE.decode),
      /** Rows of the audit log that are in the database. */
      countAuditRows: async () => Number((await count.get())?.rows ?? 0),
      /** Bytes of a SQLite file that hold nothing; 0 in PostgreSQL. */
      readFreeBytes: async () => {
        if (database.dialect === 'postgres') return 0
        const free = await database.prepare('SELECT freelist_count AS pages FROM pragma_freelist_count').get()
        const page = await database.prepare('SELECT page_size AS bytes FROM pragma_page_size').get()
        return Number(free?.pages ?? 0) * Number(page?.bytes ?? 0)
      },
    }
  },
  writes: (database) => ({
    /** Replaces the size of this day. Days before `oldest` are deleted. */
    record: (size: StorageSize, oldest: number) =>
      database.transaction(async (tx) => {
        await tx.prepare(RECORD).run(...SIZE.encode(size))
        await tx.prepare('DELETE FROM storage_sizes WHERE day < $1').run(oldest)
      }),
  }),
})
