import { setTimeout as pause } from 'node:timers/promises'
import {
  Client,
  type ClientBase,
  type ClientConfig,
  type CustomTypesConfig,
  Pool,
  type PoolClient,
  types,
} from 'pg'
import { toDatabaseUrls } from '../settings/database-url.ts'
import { isTransient, ReadOnlyServer, ReplacedServer } from './postgres-user-error.ts'
import { readTimelineFile, writeTimelineFile } from './timeline-file.ts'

type PoolSettings = {
  /** The data folder of the node, which keeps the highest timeline. Undefined: only this process knows it. */
  readonly dataDir?: string | undefined
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
  const hosts = createPostgresHosts(url, settings.dataDir)
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

/** The servers of one database, of which one is used. */
type PostgresHosts = {
  readonly count: number
  /** A client that connects to the server in use. */
  readonly Client: new (
    config?: ClientConfig,
  ) => Client
  /** Searches the server to be used, if none is. Fails if there is none. */
  readonly find: () => Promise<void> | undefined
  /** The process id of a new connection. Fails if its server cannot be used; then another is searched. */
  readonly check: (client: ClientBase) => Promise<number>
  /** Whether the server of this client is the one in use. */
  readonly isInUse: (client: object) => boolean
  /** The server of this client cannot be used: another is searched before the next connection. */
  readonly leave: (client: object) => void
}

/** A server that does not answer must not hold up the search for the one that does. */
const SEARCH_MS = 1500

/** Without `timeline` or `system`: the server does not tell it. */
type Place = { readonly timeline?: number | undefined; readonly system?: string | undefined }
type Facts = Place & { readonly pid: number; readonly isReadOnly: boolean }

/**
 * Of several servers that can be written, the one with the highest timeline is the primary. A primary that was replaced can
 * still accept connections, if nothing has told it so. 0 on a standby.
 */
const TIMELINE = `SELECT CASE WHEN pg_is_in_recovery() THEN 0
  ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline`
const TIMELINE_AND_SYSTEM = `${TIMELINE}, (SELECT system_identifier::text FROM pg_control_system()) AS system`
const STATE = `SELECT pg_backend_pid() AS pid, current_setting('transaction_read_only') = 'on' AS is_read_only`
type State = { readonly pid: number; readonly is_read_only: boolean }

/** The server, or the limit of the user or of the database, allows no more connections. */
const TOO_MANY_CONNECTIONS = '53300'
const isRefused = (error: unknown) => (error as { code?: unknown }).code === TOO_MANY_CONNECTIONS

/**
 * The highest timeline that this process has seen, and, of the same cluster, any process of this node, also before a restart. Another
 * cluster in the place of this one, such as a restored one, may have lower ones.
 */
function createHighest(dataDir: string | undefined) {
  let highest = 0
  const readKept = () => (dataDir ? readTimelineFile(dataDir) : undefined)
  return {
    isBelow: ({ timeline, system }: Place) => {
      if (timeline === undefined) return false
      const kept = readKept()
      return timeline < Math.max(highest, kept !== undefined && kept.system === system ? kept.timeline : 0)
    },
    note: ({ timeline = 0, system }: Place) => {
      highest = Math.max(highest, timeline)
      if (!dataDir || system === undefined || timeline === 0) return
      const kept = readKept()
      if (kept?.system !== system || kept.timeline < timeline)
        writeTimelineFile(dataDir, { system, timeline })
    },
  }
}

export function createPostgresHosts(databaseUrl: string, dataDir?: string): PostgresHosts {
  const urls = toDatabaseUrls(databaseUrl)
  const isSeveral = urls.length > 1
  const needsPrimary = (urls[0].searchParams.get('target_session_attrs') ?? 'any') !== 'any'
  const hostOf = new WeakMap<object, number>()
  let inUse: number | undefined = isSeveral ? undefined : 0
  const highest = createHighest(dataDir)
  let searching: Promise<void> | undefined
  const leave = (client: object) => {
    if (isSeveral && hostOf.get(client) === inUse) inUse = undefined
  }
  const whyUseless = (facts: Facts) => {
    if (needsPrimary && facts.isReadOnly) return new ReadOnlyServer()
    // Rows that are written there are lost when it learns that it was replaced.
    return highest.isBelow(facts) ? new ReplacedServer() : undefined
  }
  const readFacts = async (client: ClientBase): Promise<Facts> => {
    const [state] = (await client.query<State>(STATE)).rows
    const place = isSeveral && needsPrimary ? await readPlace(client) : {}
    return { pid: state?.pid ?? 0, isReadOnly: state?.is_read_only === true, ...place }
  }
  const search = async () => {
    const answers = await Promise.allSettled(urls.map((url) => askHost(url, readFacts)))
    const facts = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : undefined))
    highest.note(
      facts.reduce((top, each) => ((each?.timeline ?? 0) > (top?.timeline ?? 0) ? each : top)) ?? {},
    )
    const useless = facts.map((each) => each && whyUseless(each))
    const found = facts.findIndex((each, index) => each && !useless[index])
    if (found === -1)
      throw toCause([
        ...useless,
        ...answers.map((answer) => (answer.status === 'rejected' ? answer.reason : undefined)),
      ])
    inUse = found
  }
  return {
    count: urls.length,
    Client: createClientClass(
      () => ({ host: inUse ?? 0, url: urls[inUse ?? 0] ?? urls[0] }),
      hostOf,
      leave,
      isSeveral,
    ),
    find: () => {
      if (inUse !== undefined) return undefined
      searching ??= search().finally(() => {
        searching = undefined
      })
      return searching
    },
    check: async (client) => {
      const facts = await readFacts(client)
      const useless = whyUseless(facts)
      if (useless) {
        leave(client)
        throw useless
      }
      highest.note(facts)
      return facts.pid
    },
    isInUse: (client) => hostOf.get(client) === inUse,
    leave,
  }
}

/** A client of the pool, which calls `connect` with a callback. */
function createClientClass(
  choose: () => { readonly host: number; readonly url: URL },
  hostOf: WeakMap<object, number>,
  leave: (client: object) => void,
  isSeveral: boolean,
): PostgresHosts['Client'] {
  const limit = isSeveral ? { connectionTimeoutMillis: SEARCH_MS } : {}
  return class extends Client {
    constructor(config?: ClientConfig) {
      const { host, url } = choose()
      super({ ...config, connectionString: url.href, ...limit })
      hostOf.set(this, host)
      const connect = this.connect.bind(this) as (callback: (error: Error | null) => void) => void
      this.connect = ((callback: (error: Error | null) => void) =>
        connect((error) => {
          if (error && !isRefused(error)) leave(this)
          callback(error)
        })) as typeof this.connect
    }
  }
}

/** The user may not call the functions, or the server (one that speaks like PostgreSQL) lacks them. */
const UNTOLD = ['42501', '42883', '0A000']

/** Asks for less until the user may ask for it. */
async function readPlace(client: ClientBase): Promise<Place> {
  for (const sql of [TIMELINE_AND_SYSTEM, TIMELINE]) {
    try {
      return (await client.query<Place>(sql)).rows[0] ?? {}
    } catch (error) {
      if (!UNTOLD.includes(String((error as { code?: unknown }).code))) throw error
    }
  }
  return {}
}

/** On a connection of its own. */
async function askHost(url: URL, read: (client: ClientBase) => Promise<Facts>): Promise<Facts> {
  const client = new Client({
    connectionString: url.href,
    connectionTimeoutMillis: SEARCH_MS,
    query_timeout: SEARCH_MS,
    application_name: 'tabbat',
  })
  // What breaks it fails the statement, too.
  client.on('error', () => {})
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('timeout expired')), SEARCH_MS)
  try {
    return await Promise.race([client.connect().then(() => read(client)), late])
  } finally {
    clearTimeout(timer)
    void client.end().catch(() => {})
  }
}

/** The most telling reason: the server is full, refuses us, is no primary, cannot be reached. */
function toCause(reasons: readonly unknown[]): unknown {
  const given = reasons.filter((reason) => reason !== undefined)
  const isAnswer = (reason: unknown) => reason instanceof ReadOnlyServer || reason instanceof ReplacedServer
  return (
    given.find(isRefused) ?? given.find((reason) => !isTransient(reason)) ?? given.find(isAnswer) ?? given[0]
  )
}
