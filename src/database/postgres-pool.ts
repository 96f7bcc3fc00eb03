import { setTimeout as pause } from 'node:timers/promises'
import { type ClientBase, type CustomTypesConfig, Pool, type PoolClient, types } from 'pg'
import { createPostgresHosts, isRefused, type PostgresHosts, SEARCH_MS } from './postgres-hosts.ts'

type PoolSettings = {
  /** How long to wait for a reply of the server. */
  readonly answerTimeoutMs: number
  /** How long a statement may take, including its wait for locks. */
  readonly statementTimeoutMs: number
  /** At most this many connections. */
  readonly connections: number
}

export type ConnectionPool = {
  /** Fails when there is no free connection within this time. */
  readonly acquire: (waitMs: number) => Promise<PoolClient>
  /**
   * Whether a pooler such as PgBouncer is between us and the server: then every transaction may be on another connection of
   * the server, with other settings and other prepared statements.
   */
  readonly isPooled: (client: PoolClient) => boolean
  /**
   * Closes this connection and, before they are used again, all others: their server has become read-only, or has stopped
   * answering. Another one is searched.
   */
  readonly leaveServer: (client: PoolClient) => void
  /** Before the next connection is used, its server is compared with the others. */
  readonly doubtServer: (client: PoolClient) => void
  /** The settings of a session, for one transaction of a pooled connection. */
  readonly localSettings: string
  readonly close: () => Promise<void>
}

/** How long a node that stalls inside a transaction can block the others. */
const IDLE_TIMEOUT_MS = 60_000

/** Planning a statement costs more than running it: one plan serves all parameters. Transactions name their isolation level. */
const SESSION_ONLY =
  "SET plan_cache_mode = force_generic_plan; SET default_transaction_isolation = 'read committed'"

const INT8 = 20
/** Counts and times fit a double. The driver would return them as text. */
const parsers: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === INT8 ? Number : types.getTypeParser(oid, format)),
}

const RETRY_MS = 50
/** After a refusal, the connections that exist are shared for this long before another is tried. */
const SHARE_MS = 1000

export function openPool(url: string, settings: PoolSettings): ConnectionPool {
  const { connections } = settings
  const pooled = new WeakSet<object>()
  const hosts = createPostgresHosts(url)
  let generation = 0
  const generations = new WeakMap<object, number>()
  // Durability and isolation must not depend on the configuration of the server.
  const names = {
    synchronous_commit: 'on',
    statement_timeout: settings.statementTimeoutMs,
    idle_in_transaction_session_timeout: IDLE_TIMEOUT_MS,
  }
  const set = (scope: string) =>
    Object.entries(names)
      .map(([name, value]) => `SET ${scope} ${name} = ${value}`)
      .join('; ')
  const pool = createPool(hosts, settings, async (client) => {
    const pid = await hosts.check(client)
    generations.set(client, generation)
    // A pooler gives each client a number of its own.
    if (pid === (client as { processID?: unknown }).processID)
      await client.query(`${set('SESSION')}; ${SESSION_ONLY}`)
    else pooled.add(client)
  })
  const sharing = createSharing(pool, connections)
  /** Whether another attempt makes sense. If not, the error is thrown. */
  const recover = async (error: unknown, until: number, mayRetry: boolean): Promise<undefined> => {
    const isFull = isRefused(error)
    const neededMs = isFull ? RETRY_MS : SEARCH_MS
    if (!(isFull || mayRetry) || performance.now() + neededMs > until) throw error
    if (!isFull) return
    sharing.start()
    await pause(RETRY_MS)
  }
  return {
    acquire: async (waitMs) => {
      const until = performance.now() + waitMs
      // The server that was found may be gone when a connection to it is opened: then one more search.
      let mayRetry = hosts.count > 1
      for (let isFirst = true; ; isFirst = false) {
        let isFound = false
        const connect = async () => {
          await hosts.find()
          isFound = true
          return isFirst ? pool.connect() : connectBefore(pool, until)
        }
        const client = await connect().catch((error) => recover(error, until, isFound && mayRetry))
        if (!client) mayRetry = false
        else if (generations.get(client) === generation && hosts.isInUse(client)) return client
        else client.release(true)
      }
    },
    leaveServer: (client) => {
      // Many statements fail at the same moment: the first of them moves on.
      if (generations.get(client) === generation) {
        hosts.leave(client)
        generation += 1
      }
      client.release(true)
    },
    doubtServer: hosts.leave,
    isPooled: (client) => pooled.has(client),
    localSettings: set('LOCAL'),
    close: () => {
      sharing.stop()
      return pool.end()
    },
  }
}

/** After a refusal, requests wait in the queue of the pool, which is served as soon as a connection is free. */
function createSharing(pool: Pool, connections: number) {
  let ending: NodeJS.Timeout | undefined
  const start = () => {
    pool.options.max = Math.max(1, pool.totalCount)
    clearTimeout(ending)
    ending = setTimeout(end, SHARE_MS).unref()
  }
  // The pool opens connections for new requests only. Those that wait in its queue get them here.
  const end = async () => {
    pool.options.max = connections
    try {
      while (pool.waitingCount > 0 && pool.totalCount < connections) (await pool.connect()).release()
    } catch (error) {
      if (isRefused(error)) start()
    }
  }
  return { start, stop: () => clearTimeout(ending) }
}

/** The pool itself would wait for its whole timeout again. */
function connectBefore(pool: Pool, until: number): Promise<PoolClient> {
  const { promise, resolve, reject } = Promise.withResolvers<PoolClient>()
  let isLate = false
  const timer = setTimeout(
    () => {
      isLate = true
      reject(new Error('timeout exceeded when trying to connect'))
    },
    Math.max(1, until - performance.now()),
  )
  pool.connect().then((client) => (isLate ? client.release() : resolve(client)), reject)
  return promise.finally(() => clearTimeout(timer))
}

function createPool(
  hosts: PostgresHosts,
  settings: PoolSettings,
  onConnect: (client: ClientBase) => Promise<void>,
): Pool {
  const { answerTimeoutMs, statementTimeoutMs, connections } = settings
  const pool = new Pool({
    Client: hosts.Client as never,
    max: connections,
    connectionTimeoutMillis: answerTimeoutMs,
    // The server cancels a slow statement. If it does not even answer, we give up a little later.
    query_timeout: statementTimeoutMs + answerTimeoutMs,
    application_name: 'tabbat',
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
    types: parsers,
    onConnect,
  })
  // An idle connection broke: the pool opens a new one on demand.
  pool.on('error', () => {})
  // A connection that breaks in a transaction fails its statement. Without a listener the process would end, too.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
