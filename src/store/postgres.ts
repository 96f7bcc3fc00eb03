import { hash } from 'node:crypto'
import { Pool, type PoolClient, types } from 'pg'
import { Refusal } from '../errors.ts'
import type { Database, Row, Statement, Value } from './database.ts'

const CONNECT_TIMEOUT_MS = 5000
/** How long the start waits for a server that is not there yet. */
const START_WAIT_MS = 15_000
const INT8 = 20

type Client = Pick<PoolClient, 'query'>

/** Counts and times fit a double; as text they would be compared as text. */
types.setTypeParser(INT8, Number)

export async function openPostgres(url: string): Promise<Database> {
  const pool = new Pool({
    connectionString: url,
    max: 16,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'tabbat',
    keepAlive: true,
  })
  // A connection that breaks while nobody uses it: the next one who needs it gets a new one.
  pool.on('error', () => {})
  await waitUntilReachable(pool, url)
  const close = () => pool.end()

  const transaction = async <T>(work: (database: Database) => Promise<T>): Promise<T> => {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      const result = await work(insideOf(client))
      await client.query('COMMIT')
      client.release()
      return result
    } catch (error) {
      await client.query('ROLLBACK').then(
        () => client.release(),
        () => client.release(true),
      )
      throw error
    }
  }
  return {
    dialect: 'postgres',
    prepare: (sql) => prepare(pool as unknown as Client, sql),
    transaction,
    lock: async () => {
      throw new Error('a lock is held in a transaction only')
    },
    close,
  }
}

function insideOf(client: Client): Database {
  const inside: Database = {
    dialect: 'postgres',
    prepare: (sql) => prepare(client, sql),
    transaction: (work) => work(inside),
    lock: async (name) => {
      await client.query({
        name: 'lock',
        text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))',
        values: [name],
      })
    },
    close: async () => {},
  }
  return inside
}

const names = new Map<string, string>()

/** Statements are prepared once per connection, under a name made of their text. */
function prepare(client: Client, text: string): Statement {
  const name = names.get(text) ?? hash('sha256', text, 'base64url').slice(0, 24)
  names.set(text, name)
  const query = (values: Value[]) => client.query({ name, text, values })
  return {
    get: async (...values) => (await query(values)).rows[0] as Row | undefined,
    all: async (...values) => (await query(values)).rows as Row[],
    run: async (...values) => (await query(values)).rowCount ?? 0,
  }
}

async function waitUntilReachable(pool: Pool, url: string): Promise<void> {
  const until = Date.now() + START_WAIT_MS
  for (;;) {
    try {
      await pool.query('SELECT 1')
      return
    } catch (error) {
      const refusal = toRefusal(url, error as Error & { code?: string })
      if (refusal.final || Date.now() > until) {
        await pool.end()
        throw new Refusal(refusal.text)
      }
      await new Promise((done) => setTimeout(done, 250))
    }
  }
}

/** What the server said no to will not change by waiting; a server that is not there may come. */
function toRefusal(url: string, { code = '' }: { code?: string }): { final: boolean; text: string } {
  const { host, pathname } = new URL(url)
  const place = `PostgreSQL at ${host}`
  if (code === '28P01' || code === '28000')
    return { final: true, text: `${place} refused the user or password of TABBAT_DATABASE_URL.` }
  if (code === '3D000')
    return {
      final: true,
      text: `${place} has no database ${pathname.slice(1)}. Create it, or correct TABBAT_DATABASE_URL.`,
    }
  return {
    final: false,
    text: `${place} cannot be reached (${code || 'no answer'}). Start it, or correct TABBAT_DATABASE_URL.`,
  }
}
