import type { Database } from './database.ts'

/** How a PostgreSQL server keeps what was committed. */
export type ServerFacts = {
  /** It follows a primary, and cannot be written. */
  readonly isStandby: boolean
  /** Also a primary whose transactions are read-only by a setting. */
  readonly isReadOnly: boolean
  readonly fsync: boolean
  readonly fullPageWrites: boolean
  /** As it is in our own connections. */
  readonly synchronousCommit: string
  /** Standbys that are connected to it. */
  readonly standbys: number
  /** Whether a commit waits for one of them that is connected. */
  readonly isSynchronous: boolean
}

/** A role without pg_read_all_stats sees a standby, but not its state: then the setting counts. A running base backup is no standby. */
const FACTS = `SELECT pg_is_in_recovery() AS standby,
  current_setting('transaction_read_only') = 'on' AS read_only,
  current_setting('fsync') = 'on' AS fsync,
  current_setting('full_page_writes') = 'on' AS full_page_writes,
  current_setting('synchronous_commit') AS synchronous_commit,
  (SELECT COUNT(*) FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup') AS standbys,
  EXISTS (SELECT FROM pg_stat_replication WHERE COALESCE(
    sync_state IN ('sync', 'quorum'), current_setting('synchronous_standby_names') <> '')) AS is_synchronous`

/** Undefined for SQLite. */
export async function readServerFacts(database: Database): Promise<ServerFacts | undefined> {
  if (database.dialect === 'sqlite') return undefined
  const row = await database.prepare(FACTS).get()
  return {
    isStandby: row?.standby === true,
    isReadOnly: row?.read_only === true,
    fsync: row?.fsync === true,
    fullPageWrites: row?.full_page_writes === true,
    synchronousCommit: String(row?.synchronous_commit),
    standbys: Number(row?.standbys),
    isSynchronous: row?.is_synchronous === true,
  }
}
