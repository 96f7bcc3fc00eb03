import { Client, type ClientConfig } from 'pg'
import { toDatabaseUrls } from '../settings/database-url.ts'

/** The servers of one database. New connections go to the one that answered last. */
export type PostgresHosts = {
  readonly count: number
  /** Whether a connection to a server that cannot be written is of no use. */
  readonly needsPrimary: boolean
  /** A client that connects to the current server. */
  readonly Client: new (
    config?: ClientConfig,
  ) => Client
  /** The server of this client cannot be used: the next connections go to another. */
  readonly leave: (client: object) => void
}

/** A server that does not answer must not hold up the search for the one that does. */
const CONNECT_TIMEOUT_MS = 1500

export function createPostgresHosts(databaseUrl: string): PostgresHosts {
  const urls = toDatabaseUrls(databaseUrl)
  const hostOf = new WeakMap<object, number>()
  let current = 0
  const leave = (client: object) => {
    // Many connections fail at the same moment: the first of them moves on.
    if (hostOf.get(client) === current) current = (current + 1) % urls.length
  }
  const limit = urls.length > 1 ? { connectionTimeoutMillis: CONNECT_TIMEOUT_MS } : {}
  const HostClient = class extends Client {
    constructor(config?: ClientConfig) {
      super({ ...config, connectionString: urls[current]?.href, ...limit })
      hostOf.set(this, current)
      const connect = this.connect.bind(this) as (callback: (error: Error | null) => void) => void
      // As the pool calls it.
      this.connect = ((callback: (error: Error | null) => void) =>
        connect((error) => {
          if (error) leave(this)
          callback(error)
        })) as typeof this.connect
    }
  }
  const attributes = urls[0].searchParams.get('target_session_attrs') ?? 'any'
  return { count: urls.length, needsPrimary: attributes !== 'any', Client: HostClient, leave }
}
