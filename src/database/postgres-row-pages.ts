import { Client, type Connection, type Submittable } from 'pg'
import { toDatabaseUrls } from '../settings/database-url.ts'
import { type RowPages, TEXT_COLUMNS, UnexpectedValue } from './row-pages.ts'

const PAGE_BYTES = 256 * 1024
const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1')
const HEADER_BYTES = SIGNATURE.length + 8
const TRAILER_BYTES = 2
const LIST = `chain, sequence::text, ${TEXT_COLUMNS.join(', ')}, format::text, previous_hash, hash`

type Take = Parameters<RowPages['read']>[2]

/** A connection of its own that sees what the exporting transaction sees, as long as that one is open. */
export async function openPostgresRowPages(url: string, snapshot: string) {
  const client = await connectToSnapshot(toDatabaseUrls(url), snapshot)
  const page = Buffer.alloc(PAGE_BYTES)
  const pages: RowPages = {
    read: (chain, { after, upTo }, take) => {
      const rows = toSelectRows(client.escapeLiteral(chain), { after, upTo })
      return copyRows(client, `COPY (${rows}) TO STDOUT (FORMAT binary)`, page, take)
    },
  }
  return { ...pages, close: () => client.end() }
}

/** With values and not with parameters, which COPY does not have. So PostgreSQL plans for one partition. */
export const toSelectRows = (chain: string, { after, upTo }: Parameters<RowPages['read']>[1]) =>
  `SELECT ${LIST} FROM audit WHERE chain = ${chain} AND sequence > ${after} AND sequence <= ${upTo} ORDER BY audit.sequence`

/** The exporting transaction is on one of the servers; the others do not know its snapshot. */
async function connectToSnapshot([url, ...others]: readonly URL[], snapshot: string): Promise<Client> {
  const client = new Client({ connectionString: url?.href, application_name: 'tabbat', keepAlive: true })
  // A connection that breaks fails its statement.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY')
    // For this transaction only: behind a pooler, a session has no settings of its own.
    await client.query('SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0')
    await client.query(`SET TRANSACTION SNAPSHOT ${client.escapeLiteral(snapshot)}`)
    return client
  } catch (error) {
    await client.end()
    if (others.length === 0) throw error
    return connectToSnapshot(others, snapshot)
  }
}

/**
 * The driver does not know COPY, but hands its messages to a query object. `pg-copy-streams` would make a stream of them;
 * here a message is one row, and rows are collected in one buffer.
 */
function copyRows(client: Client, sql: string, page: Buffer<ArrayBuffer>, take: Take): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let length = 0
  let failure: unknown
  let isFirst = true
  const flush = () => {
    if (length > 0 && failure === undefined) take(page, length)
    length = 0
  }
  const add = (message: Buffer) => {
    const row = isFirst ? toFirstRow(message) : message
    isFirst = false
    if (row.length <= TRAILER_BYTES) return
    if (row.length > page.length) throw new UnexpectedValue()
    if (length + row.length > page.length) flush()
    page.set(row, length)
    length += row.length
  }
  const attempt = (work: () => void) => {
    try {
      work()
    } catch (error) {
      failure ??= error
    }
  }
  const query: Submittable & Record<string, unknown> = {
    submit: (connection: Connection) => connection.query(sql),
    handleCopyData: ({ chunk }: { chunk: Buffer }) => attempt(() => add(chunk)),
    handleCommandComplete: () => attempt(flush),
    handleError: (error: unknown) => reject(error),
    handleReadyForQuery: () => (failure === undefined ? resolve() : reject(failure)),
  }
  client.query(query)
  return promise
}

/** The first row follows the header in its message, or comes in the next one. */
const toFirstRow = (message: Buffer) =>
  message.subarray(0, SIGNATURE.length).equals(SIGNATURE) ? message.subarray(HEADER_BYTES) : message
