import type { SubjectBlock } from '../audit/subject-blocks.ts'
import { consentTable, type SubjectTable, subjectTable } from '../audit/subject-table.ts'
import type { Database, Row } from '../database/database.ts'
import { DamagedIndex } from '../database/failure.ts'
import { type DatabaseOptions, openDatabase } from '../database/open-database.ts'

/** An index and its columns. */
export type IndexInfo = {
  readonly table: string
  readonly index: string
  readonly columns: readonly string[]
}

type SealedValue = {
  readonly id: Uint8Array
  readonly keyVersion: number
  readonly sealed: Uint8Array
}

/**
 * Reads the tables in pieces, in the order of the disk. A piece ends at a place: a rowid in SQLite, a page number in
 * PostgreSQL.
 */
export type ScrubTable = {
  readonly listIndexes: () => Promise<IndexInfo[]>
  /** Where the piece after `place` ends; undefined when there is none. */
  readonly nextPlace: (table: string, place: number) => Promise<number | undefined>
  /** Rows of the piece that cannot be found by the index. */
  readonly countMissing: (index: IndexInfo, from: number, to: number) => Promise<number>
  readonly readSealed: (table: 'registry' | 'media', from: number, to: number) => Promise<SealedValue[]>
  /** Runs the integrity check of SQLite over the whole file; always true for PostgreSQL. */
  readonly isSound: () => Promise<boolean>
  readonly blocks: readonly BlockScrub[]
}

const CACHE_KIB = 2048
const PIECE_ROWS = 32
const PIECE_PAGES = 8
const ID_COLUMN = { registry: 'subject', media: 'id' } as const

/** Opens its own connection with a small cache, so that it reads from the disk and does not evict cached pages. */
export async function openScrubTable(
  options: DatabaseOptions,
): Promise<ScrubTable & { readonly close: () => Promise<void> }> {
  const { database, close } = await openDatabase({ ...options, mustExist: true })
  if (database.dialect !== 'sqlite') return { ...createForPostgres(database), close }
  await database.prepare(`PRAGMA cache_size = -${CACHE_KIB}`).run()
  return { ...createForSqlite(database), close }
}

/** The names in the statements come from the schema. SQLite cannot parse them if one of them was damaged. */
const SQLITE_CANNOT_PARSE = 1

function createForSqlite(database: Database): ScrubTable {
  const get = async (sql: string, ...values: number[]): Promise<Row | undefined> => {
    try {
      return await database.prepare(sql).get(...values)
    } catch (error) {
      throw (error as { errcode?: number }).errcode === SQLITE_CANNOT_PARSE ? new DamagedIndex() : error
    }
  }
  return {
    listIndexes: async () => (await database.prepare(LIST_SQLITE_INDEXES).all()).map(toIndexInfo),
    nextPlace: async (table, place) => {
      const row = await get(
        `SELECT MAX(place) AS place FROM
         (SELECT rowid AS place FROM ${table} NOT INDEXED WHERE rowid > $1 ORDER BY rowid LIMIT ${PIECE_ROWS})`,
        place,
      )
      return row?.place === null ? undefined : Number(row?.place)
    },
    countMissing: async ({ table, index, columns }, from, to) => {
      const row = await get(
        `SELECT COUNT(*) AS missing FROM ${table} AS t NOT INDEXED
         WHERE t.rowid > $1 AND t.rowid <= $2 AND ${areSet(columns)} AND NOT EXISTS (
           SELECT 1 FROM ${table} AS i INDEXED BY ${index} WHERE ${areEqual(columns)} AND i.rowid = t.rowid)`,
        from,
        to,
      )
      return Number(row?.missing)
    },
    readSealed: async (table, from, to) => {
      const rows = await database
        .prepare(
          `SELECT ${ID_COLUMN[table]} AS id, key_version, sealed FROM ${table} NOT INDEXED
           WHERE rowid > $1 AND rowid <= $2`,
        )
        .all(from, to)
      return rows.map(toSealedValue)
    },
    blocks: createBlockScrubs(database),
    isSound: async () =>
      (await database.prepare('PRAGMA integrity_check(1)').get())?.integrity_check === 'ok',
  }
}

/** Checks unique indexes only: a lookup among many equal keys takes too long. */
function createForPostgres(database: Database): ScrubTable {
  const piece = `t.ctid >= ('(' || $1::bigint || ',0)')::tid AND t.ctid < ('(' || $2::bigint || ',0)')::tid`
  return {
    listIndexes: async () => (await database.prepare(LIST_POSTGRES_INDEXES).all()).map(toIndexInfo),
    nextPlace: async (table, place) => {
      const row = await database
        .prepare(`SELECT pg_relation_size($1::regclass) / current_setting('block_size')::bigint AS pages`)
        .get(table)
      return Number(row?.pages) > place ? place + PIECE_PAGES : undefined
    },
    countMissing: ({ table, columns }, from, to) =>
      database.transaction(async (tx) => {
        for (const way of ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin'])
          await tx.prepare(`SET LOCAL enable_${way} = off`).run()
        const row = await tx
          .prepare(
            `SELECT COUNT(*) AS missing FROM ${table} AS t WHERE ${piece} AND ${areSet(columns)} AND NOT EXISTS (
               SELECT 1 FROM (SELECT i.ctid AS place FROM ${table} AS i WHERE ${areEqual(columns)} OFFSET 0) AS found
               WHERE found.place = t.ctid)`,
          )
          .get(from, to)
        return Number(row?.missing)
      }),
    readSealed: async (table, from, to) => {
      const rows = await database
        .prepare(`SELECT ${ID_COLUMN[table]} AS id, key_version, sealed FROM ${table} AS t WHERE ${piece}`)
        .all(from, to)
      return rows.map(toSealedValue)
    },
    blocks: createBlockScrubs(database),
    isSound: async () => true,
  }
}

const areSet = (columns: readonly string[]) =>
  columns.map((column) => `t.${column} IS NOT NULL`).join(' AND ')
const areEqual = (columns: readonly string[]) =>
  columns.map((column) => `i.${column} = t.${column}`).join(' AND ')

/** Without partial indexes, which answer only queries with their condition. `isSound` checks them. */
const LIST_SQLITE_INDEXES = `SELECT tbl_name AS table_name, name AS index_name,
    (SELECT group_concat(info.name ORDER BY info.seqno) FROM pragma_index_info(sqlite_schema.name) AS info) AS columns
  FROM sqlite_schema WHERE type = 'index'
    AND NOT (SELECT list.partial FROM pragma_index_list(tbl_name) AS list WHERE list.name = sqlite_schema.name)
  ORDER BY tbl_name, name`

const LIST_POSTGRES_INDEXES = `SELECT tables.relname AS table_name, indexes.relname AS index_name,
    (SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = indexes.oid) AS columns
  FROM pg_index JOIN pg_class indexes ON indexes.oid = indexrelid JOIN pg_class tables ON tables.oid = indrelid
  WHERE tables.relnamespace = current_schema()::regnamespace AND indisunique AND indisvalid
    AND indpred IS NULL AND indexprs IS NULL
    -- Older versions cannot scan a range of pages.
    AND current_setting('server_version_num')::bigint >= 140000
  ORDER BY 1, 2`

const toIndexInfo = (row: Row): IndexInfo => ({
  table: String(row.table_name),
  index: String(row.index_name),
  columns: String(row.columns).split(','),
})

const toSealedValue = (row: Row): SealedValue => ({
  id: row.id as Uint8Array,
  keyVersion: Number(row.key_version),
  sealed: row.sealed as Uint8Array,
})

/** Reads the blocks of an index of the audit log, and the rows they were made from. */
export type BlockScrub = Pick<SubjectTable, 'subjects'> & {
  /** The block after the one with this chain and first row. */
  readonly nextBlock: (chain: string, first: number) => Promise<Omit<SubjectBlock, 'pages'> | undefined>
  /** Whether all rows of a range are there: those of an archived chain are removed. */
  readonly hasRows: (chain: string, after: number, upTo: number) => Promise<boolean>
  /** Whether the rows of a chain may be removed, because they are in an archive. */
  readonly isArchived: (chain: string) => Promise<boolean>
  readonly readPages: (chain: string, first: number) => Promise<SubjectBlock['pages']>
}

/** One for the index of people, one for that of consents. */
export const createBlockScrubs = (database: Database): BlockScrub[] =>
  [subjectTable, consentTable].map((table) => createBlockScrub(database, table.create(database)))

function createBlockScrub(
  database: Database,
  { index, subjects }: Pick<SubjectTable, 'index' | 'subjects'>,
): BlockScrub {
  const next = database.prepare(
    `SELECT chain, first_sequence, last_sequence FROM ${index.blocks}
     WHERE (chain, first_sequence) > ($1, $2) ORDER BY chain, first_sequence LIMIT 1`,
  )
  const pages = database.prepare(
    `SELECT bucket, entries FROM ${index.pages} WHERE chain = $1 AND first_sequence = $2`,
  )
  const rows = database.prepare(
    'SELECT COUNT(*) AS found FROM audit WHERE chain = $1 AND sequence > $2 AND sequence <= $3',
  )
  const archived = database.prepare(
    'SELECT 1 AS found FROM audit_chains WHERE chain = $1 AND archive IS NOT NULL',
  )
  return {
    isArchived: async (chain) => (await archived.get(chain)) !== undefined,
    hasRows: async (chain, after, upTo) =>
      Number((await rows.get(chain, after, upTo))?.found) === upTo - after,
    subjects,
    nextBlock: async (chain, first) => {
      const row = await next.get(chain, first)
      return (
        row && {
          chain: String(row.chain),
          first: Number(row.first_sequence),
          last: Number(row.last_sequence),
        }
      )
    },
    readPages: async (chain, first) =>
      (await pages.all(chain, first)).map(
        // Damage can change the type of a value in SQLite.
        ({ bucket, entries }) =>
          [Number(bucket), entries instanceof Uint8Array ? entries : new Uint8Array()] as const,
      ),
  }
}
