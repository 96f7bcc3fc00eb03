import { hash } from 'node:crypto'
import { type CustomTypesConfig, Pool, type PoolClient, type QueryConfig, types } from 'pg'
import { DAY_MS } from '../contract/time.ts'
import type { Database, Row, Statement, TransactionOptions, Value } from './database.ts'
import { isTransient, toPostgresUserError } from './postgres-user-error.ts'
import { createTimeoutBreaker, isServerTimeout } from './timeout-breaker.ts'

export type PostgresOptions = {
  /** How long the start waits for a server that is not there yet. */
  readonly startWaitMs?: number | undefined
  /** How long a server may be silent. */
  readonly answerTimeoutMs?: number | undefined
  /** How long a statement may take, waiting for others included. */
  readonly statementTimeoutMs?: number | undefined
  /** How long one operation may take altogether: a connection, its statements, the commit. */
  readonly operationTimeoutMs?: number | undefined
  /** Hears of every failure, also where its caller does not care. */
  readonly onFailure?: ((error: unknown) => void) | undefined
}

const MOST_CONNECTIONS = 16
const ANSWER_TIMEOUT_MS = 5000
const START_WAIT_MS = 15_000
const START_PAUSE_MS = 250
const STATEMENT_TIMEOUT_MS = 15_000
/** A node that stops in the middle of a transaction holds up the others for so long. */
const IDLE_TIMEOUT_MS = 60_000
const PATIENT_TIMEOUT_MS = DAY_MS
const ROLLBACK_TIMEOUT_MS = 1000

/** Locks are followed by a fresh look at the tables, which stricter levels would not take. */
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'

type Query = QueryConfig & { readonly query_timeout?: number }
type Client = { readonly query: (query: Query) => Promise<{ rows: unknown[]; rowCount: number | null }> }

const INT8 = 20
/** Counts and times fit a double; as text they would be compared as text. */
const parsers: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === INT8 ? Number : types.getTypeParser(oid, format)),
}

export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Database> {
  const pool = createPool(url, options)
  await waitUntilReachable(pool, url, options.startWaitMs ?? START_WAIT_MS)
  const { operationTimeoutMs, onFailure = () => {} } = options
  const gate = createTimeoutBreaker()
  const guard = <T>(work: () => Promise<T>): Promise<T> =>
    gate(work).catch((error) => {
      onFailure(error)
      throw error
    })

  const transaction = async <T>(
    work: (database: Database) => Promise<T>,
    { patient = false }: TransactionOptions = {},
  ): Promise<T> => {
    const limits = patient ? { query_timeout: PATIENT_TIMEOUT_MS } : createLimits(operationTimeoutMs)
    const client = await pool.connect()
    try {
      await client.query(toQuery(patient ? `${BEGIN}; SET LOCAL statement_timeout = 0` : BEGIN, limits))
      const result = await work(insideOf(client, limits))
      const { command } = await client.query(toQuery('COMMIT', limits))
      // Where a statement has failed, the server takes everything back and calls that a success.
      if (command !== 'COMMIT') throw new Error('the transaction was taken back')
      client.release()
      return result
    } catch (error) {
      await takeBack(client, error)
      throw error
    }
  }
  const query = async (query: Query) => {
    const limits = createLimits(operationTimeoutMs)
    const client = await pool.connect()
    try {
      const result = await (client as Client).query({ ...query, ...limits })
      client.release()
      return result
    } catch (error) {
      client.release(!isUsable(error))
      throw error
    }
  }
  return {
    dialect: 'postgres',
    prepare: (sql) => prepare({ query: (asked) => guard(() => query(asked)) }, sql),
    transaction: (work, how) => guard(() => transaction(work, how)),
    lock: async () => {
      throw new Error('a lock is held in a transaction only')
    },
    close: () => pool.end(),
  }
}

type Limits = Pick<Query, 'query_timeout'>

/** What is left of the time of an operation, read anew for each of its statements. */
function createLimits(timeoutMs: number | undefined): Limits {
  if (timeoutMs === undefined) return {}
  const until = performance.now() + timeoutMs
  return {
    get query_timeout() {
      return Math.max(1, Math.round(until - performance.now()))
    },
  }
}

const toQuery = (text: string, limits: Limits): Query => ({ text, ...limits })

/** PostgreSQL has answered, if with an error, and goes on with the connection. */
const isUsable = (error: unknown) => (error as { severity?: unknown }).severity === 'ERROR'

function createPool(url: string, options: PostgresOptions): Pool {
  const { answerTimeoutMs = ANSWER_TIMEOUT_MS, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options
  // Durability is a promise, so it does not depend on how the server is set.
  const session = `SET synchronous_commit = on; SET default_transaction_isolation = 'read committed';
    SET statement_timeout = ${statementTimeoutMs};
    SET idle_in_transaction_session_timeout = ${IDLE_TIMEOUT_MS}`
  const pool = new Pool({
    connectionString: url,
    max: MOST_CONNECTIONS,
    connectionTimeoutMillis: answerTimeoutMs,
    // The server ends a statement that takes too long. One that cannot even say so is given up a little later.
    query_timeout: statementTimeoutMs + answerTimeoutMs,
    application_name: 'tabbat',
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
    types: parsers,
    onConnect: async (client) => {
      await client.query(session)
    },
  })
  // A connection that breaks while nobody uses it: the next one who needs it gets a new one.
  pool.on('error', () => {})
  // One that breaks in a transaction fails the statement under way or the next one; without this, the process too.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** A connection that cannot be brought back to where it was is given up, and the server takes its work back. */
async function takeBack(client: PoolClient, error: unknown): Promise<void> {
  // Nothing that is sent behind a statement without an answer is answered.
  if (isServerTimeout(error)) return client.release(true)
  await (client as Client).query({ text: 'ROLLBACK', query_timeout: ROLLBACK_TIMEOUT_MS }).then(
    () => client.release(),
    () => client.release(true),
  )
}

function insideOf(client: Client, limits: Limits): Database {
  const inside: Database = {
    dialect: 'postgres',
    prepare: (sql) => prepare(client, sql, limits),
    transaction: (work) => work(inside),
    lock: async (name, share) => {
      const take = share === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock'
      await prepare(client, `SELECT ${take}(hashtextextended($1, 0))`, limits).run(name)
    },
    close: async () => {},
  }
  return inside
}

const names = new Map<string, string>()

/** Statements are prepared once per connection, under a name made of their text. */
function prepare(client: Client, text: string, limits: Limits = {}): Statement {
  const name = names.get(text) ?? hash('sha256', text, 'base64url').slice(0, 24)
  names.set(text, name)
  const query = (values: Value[]) => client.query({ ...limits, name, text, values })
  return {
    get: async (...values) => (await query(values)).rows[0] as Row | undefined,
    all: async (...values) => (await query(values)).rows as Row[],
    run: async (...values) => (await query(values)).rowCount ?? 0,
    runAll: async (sets) => {
      let changed = 0
      for (const values of sets) changed += (await query(values)).rowCount ?? 0
      return changed
    },
  }
}

async function waitUntilReachable(pool: Pool, url: string, waitMs: number): Promise<void> {
  const until = performance.now() + waitMs
  for (;;) {
    try {
      await pool.query('SELECT 1')
      return
    } catch (error) {
      if (!isTransient(error) || performance.now() + START_PAUSE_MS > until) {
        await pool.end()
        throw toPostgresUserError(url, error)
      }
      await new Promise((done) => setTimeout(done, START_PAUSE_MS))
    }
  }
}
