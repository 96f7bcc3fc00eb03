import { Client } from 'pg'
import { toDatabaseUrls } from '../settings/database-url.ts'
import type { Row } from './database.ts'
import { readLogins } from './postgres-login.ts'

/** How many servers of an address of PostgreSQL can be written now. */
export const countWritable = async (databaseUrl: string): Promise<number> =>
  (await listWritable(databaseUrl)).length

/** Which server, or servers, of an address of PostgreSQL can be written now; undefined if there is none. */
export async function readPrimary(databaseUrl: string): Promise<string | undefined> {
  const writable = new Set(await listWritable(databaseUrl))
  return writable.size === 0 ? undefined : [...writable].toSorted().join(', ')
}

/** What tells the writable servers of an address apart, also those behind one name or one proxy. */
async function listWritable(databaseUrl: string): Promise<string[]> {
  const identities = await askServers(databaseUrl, async (query) => {
    const row = await query(IDENTITY)
    if (row?.is_standby !== false) return undefined
    // Not every service lets a user read the timeline.
    const timeline = await query(TIMELINE).catch(() => undefined)
    return `${row.address}:${row.port} ${row.started_at} ${timeline?.timeline}`
  })
  return identities.filter((identity) => identity !== undefined)
}

const IDENTITY = `SELECT pg_is_in_recovery() AS is_standby, host(inet_server_addr()) AS address, inet_server_port() AS port,
  EXTRACT(EPOCH FROM pg_postmaster_start_time())::text AS started_at,
  (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS database`
const TIMELINE = 'SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline'

/** A database of an address, on one of its servers. */
export type DatabasePlace = {
  /** As the address spells it: host, port and database. */
  readonly text: string
  /** The same for every spelling of the address. Undefined if the server does not answer, or refuses the login. */
  readonly identity: string | undefined
}

/** One for each server of an address. */
export async function listPlaces(databaseUrl: string): Promise<DatabasePlace[]> {
  const [logins, rows] = await Promise.all([
    readLogins(databaseUrl),
    askServers(databaseUrl, (query) => query(IDENTITY)),
  ])
  return logins.map(({ host, port, database }, index) => {
    const row = rows[index]
    return {
      text: `${host}:${port}/${database}`,
      identity: row === undefined ? undefined : `${row.started_at}/${row.database}`,
    }
  })
}

const ASK_MS = 5000

/** Asks every server of an address, on a connection of its own. Undefined for one that does not answer. */
function askServers<T>(
  databaseUrl: string,
  ask: (query: (sql: string) => Promise<Row | undefined>) => Promise<T>,
): Promise<(T | undefined)[]> {
  const urls = toDatabaseUrls(databaseUrl)
  return Promise.all(
    urls.map(async (url) => {
      const client = new Client({
        connectionString: url.href,
        connectionTimeoutMillis: ASK_MS,
        query_timeout: ASK_MS,
        application_name: 'tabbat rehearse',
      })
      client.on('error', () => {})
      try {
        await client.connect()
        return await ask(async (sql) => (await client.query<Row>(sql)).rows[0])
      } catch {
        return undefined
      } finally {
        void client.end().catch(() => {})
      }
    }),
  )
}
