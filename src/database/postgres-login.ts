import type { ConnectionOptions } from 'node:tls'
import { Client } from 'pg'
import { toDatabaseUrls } from '../settings/database-url.ts'
import { toPostgresUserError } from './postgres-user-error.ts'

/** Where a server of an address is, and as whom a database is opened there. */
export type PostgresLogin = {
  /** A name, an address, or the folder of a socket. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string | undefined
  readonly database: string
  readonly ssl: boolean | ConnectionOptions
  readonly isDirectTls: boolean
}

const LOGIN_MS = 5000

/** As the driver reads the address and the environment (PGSSLMODE and others), as a server does. */
export async function readLogins(databaseUrl: string): Promise<PostgresLogin[]> {
  const urls = toDatabaseUrls(databaseUrl)
  try {
    const clients = urls.map(
      (url) => new Client({ connectionString: url.href, connectionTimeoutMillis: LOGIN_MS }),
    )
    await Promise.all(clients.map(learnPassword))
    return clients.map((client) => {
      const { sslnegotiation } = (client as unknown as { connectionParameters: { sslnegotiation?: string } })
        .connectionParameters
      return {
        host: client.host,
        port: client.port,
        user: client.user ?? '',
        password: typeof client.password === 'string' ? client.password : undefined,
        database: client.database ?? '',
        ssl: client.ssl,
        isDirectTls: sslnegotiation === 'direct',
      }
    })
  } catch (error) {
    throw toPostgresUserError(databaseUrl, error)
  }
}

/** From ~/.pgpass, which the driver reads when a server asks for a password. It is not there for another address of the server. */
async function learnPassword(client: Client): Promise<void> {
  if (client.password) return
  client.on('error', () => {})
  try {
    await client.connect()
    await client.end()
  } catch {
    // It may be down, as one of several: then another knows the password, or the copy cannot be opened.
  }
}
