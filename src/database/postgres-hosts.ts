import { Client, type ClientBase, type ClientConfig } from 'pg'
import { toDatabaseUrls } from '../settings/database-url.ts'
import { isTransient, ReadOnlyServer, ReplacedServer } from './postgres-user-error.ts'

/** The servers of one database, of which one is used. */
export type PostgresHosts = {
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
export const SEARCH_MS = 1500

/** Without `timeline`: the server does not tell it. */
type Facts = { readonly pid: number; readonly isReadOnly: boolean; readonly timeline: number | undefined }

/**
 * Of several servers that can be written, the one with the highest timeline is the primary. A primary that was replaced can
 * still accept connections, if nothing has told it so. 0 on a standby.
 */
const TIMELINE = `SELECT CASE WHEN pg_is_in_recovery() THEN 0
  ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline`
const STATE = `SELECT pg_backend_pid() AS pid, current_setting('transaction_read_only') = 'on' AS is_read_only`
type State = { readonly pid: number; readonly is_read_only: boolean }

/** The server, or the limit of the user or of the database, allows no more connections. */
const TOO_MANY_CONNECTIONS = '53300'
export const isRefused = (error: unknown) => (error as { code?: unknown }).code === TOO_MANY_CONNECTIONS

export function createPostgresHosts(databaseUrl: string): PostgresHosts {
  const urls = toDatabaseUrls(databaseUrl)
  const isSeveral = urls.length > 1
  const needsPrimary = (urls[0].searchParams.get('target_session_attrs') ?? 'any') !== 'any'
  const hostOf = new WeakMap<object, number>()
  let inUse: number | undefined = isSeveral ? undefined : 0
  let highest = 0
  let searching: Promise<void> | undefined
  const leave = (client: object) => {
    if (isSeveral && hostOf.get(client) === inUse) inUse = undefined
  }
  const whyUseless = ({ isReadOnly, timeline }: Facts) => {
    if (needsPrimary && isReadOnly) return new ReadOnlyServer()
    // Rows that are written there are lost when it learns that it was replaced.
    return timeline !== undefined && timeline < highest ? new ReplacedServer() : undefined
  }
  const readFacts = async (client: ClientBase): Promise<Facts> => {
    const [state] = (await client.query<State>(STATE)).rows
    const timeline = isSeveral && needsPrimary ? await readTimeline(client) : undefined
    return { pid: state?.pid ?? 0, isReadOnly: state?.is_read_only === true, timeline }
  }
  const search = async () => {
    const answers = await Promise.allSettled(urls.map((url) => askHost(url, readFacts)))
    const facts = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : undefined))
    highest = Math.max(highest, ...facts.map((each) => each?.timeline ?? 0))
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
      highest = Math.max(highest, facts.timeline ?? 0)
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

async function readTimeline(client: ClientBase): Promise<number | undefined> {
  try {
    const { rows } = await client.query<{ timeline: number }>(TIMELINE)
    return rows[0]?.timeline
  } catch (error) {
    if (UNTOLD.includes(String((error as { code?: unknown }).code))) return undefined
    throw error
  }
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
