import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Database, Value } from '../database/database.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import type { PageSource } from '../database/page-source.ts'
import { toSqliteUserError } from '../database/sqlite-user-error.ts'
import { AUDIT_COLUMNS } from '../ledger/audit-row.ts'
import type { Checkpoint } from './audit-table.ts'

/** The cells of a row in the order of the columns, the two hashes as hex. Untrusted: an attacker may have changed them. */
export type Cells = readonly unknown[]

/** The audit log at one moment, for reading it from end to end. */
export type AuditSnapshot = {
  readonly countRows: () => Promise<number>
  /** The chains in audit_chains. */
  readonly chains: () => Promise<string[]>
  readonly rows: (chain: string, after: number, most: number) => Promise<Cells[]>
  readonly hashes: (chain: string, after: number, upTo: number) => Promise<string[]>
  /** The id and the text of each field policy. */
  readonly policies: () => Promise<(readonly [id: unknown, fields: unknown])[]>
  /** The highest sequence of a chain; 0 where it has no rows. */
  readonly lastSequence: (chain: string) => Promise<number>
  /** Chain and sequence of a row whose chain is not in audit_chains. */
  readonly findUnclaimedRow: () => Promise<Cells | undefined>
  /** Checkpoints made after a time, in the order of time, in pages. */
  readonly checkpoints: (after?: string) => AsyncIterable<readonly Checkpoint[]>
  readonly hasCheckpoint: (checkpoint: Checkpoint) => Promise<boolean>
  /** Chain, sequence and detail of each row that states a loss. */
  readonly lossStatements: () => Promise<Cells[]>
  /** Chain, last kept and last acknowledged row of each loss that no operator has accepted. */
  readonly openLosses: () => Promise<Cells[]>
  /** Number, statement and signature of each archive. */
  readonly archives: () => Promise<Cells[]>
  /** For threads that read the same rows. In SQLite they may also see later ones. */
  readonly pageSource: () => Promise<PageSource>
}

/** Rows as arrays: several times cheaper than objects. */
type Query = (columns: readonly string[], rest: string, ...values: Value[]) => Promise<Cells[]>

const CHECKPOINTS_AT_ONCE = 500
const WAIT_MS = 5000

export function withAuditSnapshot<T>(
  store: Pick<OpenDatabase, 'database' | 'databaseUrl' | 'file'>,
  work: (scan: AuditSnapshot) => Promise<T>,
): Promise<T> {
  return store.database.dialect === 'postgres'
    ? withPostgresAuditSnapshot(store, work)
    : withSqliteAuditSnapshot(store.file, work)
}

/** Opens its own read-only connection, which does not see later writes. */
async function withSqliteAuditSnapshot<T>(
  path: string,
  work: (scan: AuditSnapshot) => Promise<T>,
): Promise<T> {
  const connection = new DatabaseSync(path, { readOnly: true, timeout: WAIT_MS })
  try {
    connection.exec('PRAGMA trusted_schema = OFF; BEGIN')
    return await work(createSqliteAuditSnapshot(connection))
  } catch (error) {
    throw toSqliteUserError(path, error)
  } finally {
    connection.close()
  }
}

export function createSqliteAuditSnapshot(connection: DatabaseSync): AuditSnapshot {
  const statements = new Map<string, StatementSync>()
  const prepare = (sql: string) => {
    const statement = connection.prepare(sql)
    statement.setReturnArrays(true)
    statements.set(sql, statement)
    return statement
  }
  // A text with the same content as the bytes must not pass for them.
  const toHex = (column: string) => `CASE typeof(${column}) WHEN 'blob' THEN lower(hex(${column})) END`
  const pageSource = async () => ({ path: connection.location() ?? '' })
  return createAuditSnapshot(toHex, pageSource, async (columns, rest, ...values) => {
    const sql = `SELECT ${columns.join(', ')} ${rest}`
    const parameters = Object.fromEntries(values.map((value, index) => [index + 1, value]))
    return (statements.get(sql) ?? prepare(sql)).all(parameters) as unknown as Cells[]
  })
}

function withPostgresAuditSnapshot<T>(
  { database, databaseUrl = '' }: Pick<OpenDatabase, 'database' | 'databaseUrl'>,
  work: (scan: AuditSnapshot) => Promise<T>,
): Promise<T> {
  return database.transaction(async (tx) => {
    await tx.prepare('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY').run()
    // Threads may read for long meanwhile.
    await tx.prepare('SET LOCAL idle_in_transaction_session_timeout = 0').run()
    return work(createPostgresAuditSnapshot(tx, databaseUrl))
  })
}

/** A page is sent as one JSON text: cell by cell costs several times as much. */
function createPostgresAuditSnapshot(tx: Database, databaseUrl: string): AuditSnapshot {
  const toHex = (column: string) => `encode(${column}, 'hex')`
  const pageSource = async () => {
    const row = await tx.prepare('SELECT pg_export_snapshot() AS snapshot').get()
    return { databaseUrl, snapshot: String(row?.snapshot) }
  }
  return createAuditSnapshot(toHex, pageSource, async (columns, rest, ...values) => {
    const names = columns.map((_column, index) => `c${index}`)
    const list = columns.map((column, index) => `${column} AS c${index}`).join(', ')
    const sql = `SELECT json_agg(json_build_array(${names.join(', ')}))::text AS page FROM (SELECT ${list} ${rest}) AS page`
    const row = await tx.prepare(sql).get(...values)
    return typeof row?.page === 'string' ? (JSON.parse(row.page) as Cells[]) : []
  })
}

function createAuditSnapshot(
  toHex: (column: string) => string,
  pageSource: AuditSnapshot['pageSource'],
  query: Query,
): AuditSnapshot {
  const cells = AUDIT_COLUMNS.map((column) => (column.endsWith('hash') ? toHex(column) : column))
  const scan: AuditSnapshot = {
    countRows: async () => Number((await query(['COUNT(*)'], 'FROM audit'))[0]?.[0]),
    chains: async () =>
      (await query(['chain'], 'FROM audit_chains ORDER BY chain')).map(([chain]) => String(chain)),
    rows: (chain, after, most) =>
      query(
        cells,
        'FROM audit WHERE chain = $1 AND sequence > $2 ORDER BY sequence LIMIT $3',
        chain,
        after,
        most,
      ),
    hashes: async (chain, after, upTo) => {
      const rest = 'FROM audit WHERE chain = $1 AND sequence > $2 AND sequence <= $3 ORDER BY sequence'
      return (await query([toHex('hash')], rest, chain, after, upTo)).map(([hash]) => String(hash))
    },
    policies: async () =>
      (await query(['id', 'fields'], 'FROM field_policies')).map(([id, fields]) => [id, fields] as const),
    lastSequence: async (chain) =>
      Number((await query(['MAX(sequence)'], 'FROM audit WHERE chain = $1', chain))[0]?.[0]),
    findUnclaimedRow: async () => {
      const rest = 'FROM audit WHERE chain NOT IN (SELECT chain FROM audit_chains) ORDER BY chain, sequence'
      return (await query(['chain', 'sequence'], `${rest} LIMIT 1`))[0]
    },
    checkpoints: (after = '') => pageCheckpoints(query, after),
    lossStatements: async () => {
      // Nearly always there is none; finding their rows means reading all rows.
      if ((await query(['chain'], 'FROM audit_losses LIMIT 1')).length === 0) return []
      const rest = "FROM audit WHERE phase = 'log_shortened' ORDER BY chain, sequence"
      return query(['chain', 'sequence', 'detail'], rest)
    },
    openLosses: () =>
      query(
        ['chain', 'kept', 'acknowledged'],
        'FROM audit_losses WHERE accepted_at IS NULL ORDER BY chain, kept',
      ),
    archives: () => query(['number', 'statement', 'signature'], 'FROM audit_archives ORDER BY number'),
    hasCheckpoint: async ({ time, body, signature }) => {
      const rest = 'FROM checkpoints WHERE time = $1 AND body = $2 AND signature = $3 LIMIT 1'
      return (await query(['time'], rest, time, body, signature)).length > 0
    },
    pageSource,
  }
  return scan
}

/** Checkpoints with equal times come in one page, so that none is lost between two pages. */
async function* pageCheckpoints(query: Query, begin: string): AsyncIterable<readonly Checkpoint[]> {
  const columns = ['time', 'body', 'signature']
  for (let after: string | undefined = begin; after !== undefined; ) {
    const next = `FROM checkpoints WHERE time > $1 ORDER BY time LIMIT 1 OFFSET ${CHECKPOINTS_AT_ONCE - 1}`
    const last: unknown = (await query(['time'], next, after))[0]?.[0]
    const page: Cells[] =
      typeof last === 'string'
        ? await query(columns, 'FROM checkpoints WHERE time > $1 AND time <= $2 ORDER BY time', after, last)
        : await query(columns, 'FROM checkpoints WHERE time > $1 ORDER BY time', after)
    yield page.map(([time, body, signature]) => ({ time, body, signature }) as Checkpoint)
    after = typeof last === 'string' ? last : undefined
  }
}
