import { UserError } from '../errors.ts'
import { toDatabaseUrls } from '../settings/database-url.ts'

type Failure = { readonly code?: unknown; readonly message?: unknown; readonly syscall?: unknown }

/** A standby, where the address asks for a primary. One may be promoted soon: transient, as a server that is starting. */
export class ReadOnlyServer extends Error {
  readonly code = '57P03'

  constructor() {
    super('the server is read-only')
    this.name = 'ReadOnlyServer'
  }
}

/** It can be written, but another server was promoted in its place. */
export class ReplacedServer extends Error {
  readonly code = '57P03'

  constructor() {
    super('another server was promoted in its place')
    this.name = 'ReplacedServer'
  }
}

/** A table, column or function exists already or has another shape. */
const FOREIGN = ['42P07', '42701', '42703', '42710', '42723']

/** A limit of time for a statement or for a lock. */
const TOO_LATE = ['57014', '55P03']

const toCode = (error: unknown) => String((error as Failure).code ?? '')

/** Unreachable, starting or out of resources: a retry may succeed. A refusal by the server is not transient. */
export function isTransient(error: unknown): boolean {
  const code = toCode(error)
  if (code === '') return /timeout|timed out|terminated/i.test(String((error as Failure).message))
  return (
    /^E(AI_AGAIN|CONN|HOST|NET|NOTFOUND|PIPE|TIMEDOUT)/.test(code) ||
    /^(08|53|57P0|58)/.test(code) ||
    // A Unix socket that does not exist yet. A missing certificate file is not transient.
    (code === 'ENOENT' && (error as Failure).syscall === 'connect')
  )
}

/** A message that says what is wrong and what to do, without the password. Unknown errors are returned unchanged. */
export function toPostgresUserError(url: string, error: unknown): Error {
  if (error instanceof UserError) return error
  const urls = toDatabaseUrls(url)
  const { pathname, searchParams } = urls[0]
  const hosts = urls.map(({ host }) => host).join(',')
  const place = `PostgreSQL at ${hosts || searchParams.get('host') || 'localhost'}`
  const reason = toReason(error, pathname.slice(1))
  return reason === undefined ? (error as Error) : new UserError(`${place} ${reason}`)
}

/**
 * A server that is not the primary. A hot standby does not allow some reads, and ends a statement or a connection that needs rows
 * which its primary has removed.
 */
function toPlaceReason(error: unknown, code: string, message: string): string | undefined {
  if (error instanceof ReadOnlyServer)
    return 'is read-only. Promote a server, or add the address of the primary to TABBAT_DATABASE_URL.'
  if (error instanceof ReplacedServer)
    return 'was replaced: another server has been promoted, and cannot be reached. Start it, or correct TABBAT_DATABASE_URL. If it is lost for good, or this server is an older copy that was put back, stop the nodes, delete postgres.timeline in the data folder of each, and start them.'
  if (code === '25006') return 'is read-only. Give the address of the primary in TABBAT_DATABASE_URL.'
  if (code === '0A000' && message.includes('during recovery'))
    return 'is a standby, where this cannot be read. Give the address of the primary in TABBAT_DATABASE_URL.'
  if (message.includes('conflict with recovery'))
    return 'is a standby, and ended a long read because its primary removed the rows. Set max_standby_streaming_delay = -1 or hot_standby_feedback = on there, and run this again.'
  return undefined
}

function toReason(error: unknown, database: string): string | undefined {
  const code = toCode(error)
  const message = String((error as Failure).message)
  const reason = toPlaceReason(error, code, message)
  if (reason !== undefined) return reason
  if (isTransient(error))
    return `cannot be reached (${code || 'no answer'}). Start it, or correct TABBAT_DATABASE_URL.`
  if (TOO_LATE.includes(code))
    return `did not execute a statement in time (${code}). It is overloaded, or another transaction holds a lock. Run this again.`
  if (code.startsWith('28') || message.startsWith('SASL'))
    return 'refused the user or password. Correct TABBAT_DATABASE_URL.'
  if (code === '3D000') return `has no database ${database}. Create it, or correct TABBAT_DATABASE_URL.`
  if (code === '42501' || code === '3F000')
    return `does not let this user create tables in ${database}. Make the user the owner of the database.`
  if (FOREIGN.includes(code))
    return `has tables of another program in ${database}. Give Tabbat a database of its own.`
  if (/CERT|TLS|SSL|SIGNATURE|ENOENT/.test(code) || message.includes('SSL'))
    return `cannot be reached over TLS (${code || 'not offered'}). Correct sslmode and sslrootcert in TABBAT_DATABASE_URL.`
  if (error instanceof URIError) return 'has an invalid address. Correct TABBAT_DATABASE_URL.'
  return undefined
}
