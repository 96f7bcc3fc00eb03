import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Connection, Query as DriverQuery, type PoolClient, type QueryConfig } from 'pg'
import { DAY_MS } from '../contract/time.ts'
import type { Database, Row, Statement, TransactionOptions, Value } from './database.ts'
import { type ConnectionPool, openPool } from './postgres-pool.ts'
import { isTransient, toPostgresUserError } from './postgres-user-error.ts'
import { createTimeoutBreaker, isServerTimeout } from './timeout-breaker.ts'

type PostgresOptions = {
  /** The data folder of the node, for what it knows of the servers. */
  readonly dataDir?: string | undefined
  /** How long the start waits for a server that cannot be reached yet. */
  readonly startWaitMs?: number | undefined
  /** How long to wait for a reply of the server. */
  readonly answerTimeoutMs?: number | undefined
  /** How long a statement may take, including its wait for locks. */
  readonly statementTimeoutMs?: number | undefined
  /** How long one operation may take in total: connection, statements, commit. */
  readonly operationTimeoutMs?: number | undefined
  /** At most this many connections. */
  readonly connections?: number | undefined
  /** Called with every failure, also when the caller ignores it. */
  readonly onFailure?: ((error: unknown) => void) | undefined
}

/** Verifications share statements, so a few connections serve many of them. */
const CONNECTIONS = 8
const ANSWER_TIMEOUT_MS = 5000
const START_WAIT_MS = 15_000
const STATEMENT_TIMEOUT_MS = 15_000
const PATIENT_TIMEOUT_MS = DAY_MS
const ROLLBACK_TIMEOUT_MS = 1000

/** After taking a lock, statements must see the latest rows, which stricter isolation levels do not show. */
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'

type Query = QueryConfig & { readonly query_timeout?: number | undefined }
type Client = { readonly query: (query: Query) => Promise<{ rows: unknown[]; rowCount: number | null }> }

export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Database> {
  const { operationTimeoutMs, onFailure = () => {} } = options
  const { answerTimeoutMs = ANSWER_TIMEOUT_MS, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options
  const { connections = CONNECTIONS, dataDir } = options
  const pool = openPool(url, { dataDir, answerTimeoutMs, statementTimeoutMs, connections })
  const acquire = () => pool.acquire(operationTimeoutMs ?? answerTimeoutMs)
  await waitUntilReachable(url, pool, acquire, options.startWaitMs ?? START_WAIT_MS)
  const breaker = createTimeoutBreaker()
  const guard = <T>(work: () => Promise<T>, isPatient = operationTimeoutMs === undefined): Promise<T> =>
    breaker(work, isPatient).catch((error) => {
      onFailure(error)
      throw error
    })

  const transaction = async <T>(
    work: (database: Database) => Promise<T>,
    { patient = false }: TransactionOptions = {},
  ): Promise<T> => {
    const remainingMs = patient ? () => PATIENT_TIMEOUT_MS : createLimit(operationTimeoutMs)
    const client = await acquire()
    try {
      const begin = pool.isPooled(client) ? `${BEGIN}; ${pool.localSettings}` : BEGIN
      await client.query(toQuery(patient ? `${begin}; SET LOCAL statement_timeout = 0` : begin, remainingMs))
      const result = await work(toTx(client, toPreparing(client, pool), remainingMs))
      const { command } = await client.query(toQuery('COMMIT', remainingMs))
      requireCommit(command)
      client.release()
      return result
    } catch (error) {
      if (isStatementTimeout(error)) pool.doubtServer(client)
      if (isLeft(error)) pool.leaveServer(client)
      else await rollBack(client)
      throw error
    }
  }
  const query = async (query: Query) => {
    const remainingMs = createLimit(operationTimeoutMs)
    const client = await acquire()
    try {
      const result = pool.isPooled(client)
        ? await queryPooled(client, `${BEGIN}; ${pool.localSettings}`, query, remainingMs)
        : await (client as Client).query(withLimit(query, remainingMs))
      client.release()
      return result
    } catch (error) {
      if (isStatementTimeout(error)) pool.doubtServer(client)
      if (isLeft(error)) pool.leaveServer(client)
      else client.release(!isUsable(error))
      throw error
    }
  }
  return {
    dialect: 'postgres',
    prepare: (sql) => prepare({ query: (asked) => guard(() => query(asked)) }, sql),
    transaction: (work, how) => guard(() => transaction(work, how), how?.patient),
    lock: async () => {
      throw new Error('a lock can only be taken inside a transaction')
    },
    close: pool.close,
  }
}

/** After a failed statement, PostgreSQL answers COMMIT with a rollback and no error. */
function requireCommit(command: string): void {
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back')
}

/** One round trip, because the statements are sent without waiting for the replies before. */
async function queryPooled(client: PoolClient, begin: string, query: Query, remainingMs: RemainingMs) {
  const sent = [
    client.query(toQuery(begin, remainingMs)),
    client.query(withLimit(withoutName(query), remainingMs)),
    client.query(toQuery('COMMIT', remainingMs)),
  ] as const
  await Promise.allSettled(sent)
  const [, result, { command }] = await Promise.all(sent)
  requireCommit(command)
  return result
}

/** Behind a pooler, a prepared statement may be on another connection, and its name may be taken by another client. */
const withoutName = ({ name: _name, ...query }: Query): Query => query

const toPreparing = (client: PoolClient, pool: ConnectionPool): Client =>
  pool.isPooled(client) ? { query: (query) => (client as Client).query(withoutName(query)) } : client

/** The remaining time of an operation, computed for each of its statements. Undefined: the limit of the pool. */
type RemainingMs = () => number | undefined

const UNLIMITED: RemainingMs = () => undefined

function createLimit(timeoutMs: number | undefined): RemainingMs {
  if (timeoutMs === undefined) return UNLIMITED
  const until = performance.now() + timeoutMs
  return () => Math.max(1, Math.round(until - performance.now()))
}

const toQuery = (text: string, remainingMs: RemainingMs): Query => ({ text, query_timeout: remainingMs() })

/** Field by field: a copy of an object of unknown shape costs several times as much. */
const withLimit = ({ name, text, values }: Query, remainingMs: RemainingMs) =>
  ({ name, text, values, query_timeout: remainingMs() }) as Query

const READ_ONLY = '25006'

/**
 * The primary has become a standby, or does not answer: nothing sent after an unanswered statement is answered, and a primary
 * whose standby was promoted answers everything but commits.
 */
const isLeft = (error: unknown) => (error as { code?: unknown }).code === READ_ONLY || isServerTimeout(error)

/** A statement waited for a lock, which an unconfirmed commit of a replaced primary never gives back. */
const isStatementTimeout = (error: unknown) => (error as { code?: unknown }).code === '57014'

/** The server answered with an error, and the connection can be used again. */
const isUsable = (error: unknown) => (error as { severity?: unknown }).severity === 'ERROR'

/** A connection that cannot be rolled back is closed, and the server rolls back itself. */
async function rollBack(client: PoolClient): Promise<void> {
  await (client as Client).query({ text: 'ROLLBACK', query_timeout: ROLLBACK_TIMEOUT_MS }).then(
    () => client.release(),
    () => client.release(true),
  )
}

function toTx(client: PoolClient, preparing: Client, remainingMs: RemainingMs): Database {
  const tx: Database = {
    dialect: 'postgres',
    prepare: (sql) => prepare(preparing, sql, remainingMs),
    transaction: (work) => work(tx),
    lock: async (name, share) => {
      const take = share === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock'
      await prepare(preparing, `SELECT ${take}(hashtextextended($1, 0))`, remainingMs).run(name)
    },
    copyIn: (sql, data) => copyIn(client, sql, data),
    close: async () => {},
  }
  return tx
}

const names = new Map<string, string>()

/** Statements are prepared once per connection, under a name made of their text. */
function prepare(client: Client, text: string, remainingMs: RemainingMs = UNLIMITED): Statement {
  const name = names.get(text) ?? hash('sha256', text, 'base64url').slice(0, 24)
  names.set(text, name)
  const query = (values: Value[]) => client.query({ name, text, values, query_timeout: remainingMs() })
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

const START_PAUSE_MS = 250

/** At the start, PostgreSQL may be starting too, or may not have a primary yet. */
async function waitUntilReachable(
  url: string,
  pool: ConnectionPool,
  acquire: () => Promise<PoolClient>,
  waitMs: number,
): Promise<void> {
  const until = performance.now() + waitMs
  for (;;) {
    try {
      return (await acquire()).release()
    } catch (error) {
      if (!isTransient(error) || performance.now() + START_PAUSE_MS > until) {
        await pool.close()
        throw toPostgresUserError(url, error)
      }
      await pause(START_PAUSE_MS)
    }
  }
}

type CopyConnection = Connection & {
  readonly sendCopyFromChunk: (chunk: Uint8Array) => void
  readonly endCopyFrom: () => void
}

/** The driver asks the query for the data of a COPY … FROM STDIN. */
class CopyInQuery extends DriverQuery {
  readonly #data: Uint8Array

  constructor(sql: string, data: Uint8Array, done: (error: Error | null) => void) {
    super(sql, done)
    this.#data = data
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(this.#data)
    connection.endCopyFrom()
  }
}

type CopyClient = { readonly query: (query: never) => unknown }

function copyIn(client: CopyClient, sql: string, data: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const query = new CopyInQuery(sql, data, (error) => (error ? reject(error) : resolve()))
    client.query(query as never)
  })
}
