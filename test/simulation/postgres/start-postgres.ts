import { execute, type Postgres, startOwnPostgres } from '../../postgres.ts'

/**
 * Nothing that PostgreSQL does by itself may depend on the real time: no vacuum, no search for deadlocks, and the plan of a statement
 * depends on its tables alone. Nothing is kept, so nothing waits for the disk.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  autovacuum: 'off',
  deadlock_timeout: '1h',
  checkpoint_timeout: '1d',
  max_wal_size: '4GB',
  synchronize_seqscans: 'off',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  fsync: 'off',
  full_page_writes: 'off',
}

/** One server for all seeds. */
export async function startPostgres(): Promise<Postgres> {
  const server = await startOwnPostgres()
  const set = Object.entries(SETTINGS).map(([name, value]) => `ALTER SYSTEM SET ${name} = '${value}'`)
  await execute(server.url, ...set, 'SELECT pg_reload_conf()')
  return server
}
