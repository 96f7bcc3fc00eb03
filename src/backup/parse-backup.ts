import type { RootKeys } from '../crypto/root-key.ts'
import type { Value } from '../database/database.ts'
import { SCHEMA_VERSION } from '../database/migrate.ts'
import { UserError } from '../errors.ts'
import { type DataTable, isDataTable, rowsAtOnce } from './data-tables.ts'
import {
  type Counts,
  decodeValue,
  type End,
  FORMAT,
  FORMAT_VERSION,
  type Header,
  toBackupKey,
} from './format.ts'
import { Damaged, isEnd, isRow, type Line, readLines } from './lines.ts'

/** Some rows of one table. */
export type Rows = {
  readonly table: DataTable
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Value[])[]
}

export type Contents = { readonly header: Header; readonly counts: Counts; readonly mac: string }

/** Parses a backup, some rows at a time. At the end, compares its MAC, and the counts with those of its last line. */
export async function parseBackup(
  text: AsyncIterable<Buffer>,
  rootKeys: RootKeys,
  onRows: (rows: Rows) => Promise<void>,
): Promise<Contents> {
  const pager = createPager(onRows)
  let header: Header | undefined
  let end: End | undefined
  for await (const line of readLines(text, (first) => toBackupKey(rootKeys, toHeader(first)))) {
    if (!header) header = toHeader(line)
    else if (isRow(line)) await pager.add(line)
    else if (isEnd(line)) end = line
    else await pager.open(line)
  }
  const counts = await pager.close()
  if (!header || !end || !isSame(end.counts, counts)) throw new Damaged()
  return { header, counts, mac: end.mac }
}

/** The lines of a page may be longer together by one line. Nothing is known to be genuine before the last line was read. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024

/** Collects the rows of a table into pages. */
function createPager(onRows: (rows: Rows) => Promise<void>) {
  const counts: Counts = {}
  let page: { table: DataTable; columns: readonly string[]; rows: Value[][] } | undefined
  let bytes = 0
  const flush = async () => {
    if (!page || page.rows.length === 0) return
    counts[page.table] = (counts[page.table] ?? 0) + page.rows.length
    await onRows(page)
    page.rows = []
    bytes = 0
  }
  return {
    open: async (line: Partial<Record<string, unknown>>) => {
      await flush()
      page = { ...toTable(line), rows: [] }
    },
    add: async (values: readonly unknown[]) => {
      if (!page) throw new Damaged()
      const row = toRow(values, page.columns.length)
      bytes += countBytes(row)
      if (page.rows.push(row) === rowsAtOnce(page.table) || bytes >= MAX_PAGE_BYTES) await flush()
    },
    close: async () => {
      await flush()
      return counts
    },
  }
}

/** Refuses a backup of another version before reading its rows. */
function toHeader(line: Line): Header {
  const header = line as unknown as Partial<Header>
  const { format, root_fingerprint: root, created_at: time } = header
  if (format !== FORMAT || typeof root !== 'string' || Number.isNaN(Date.parse(String(time))))
    throw new Damaged()
  if (Number(header.version) < FORMAT_VERSION)
    throw new UserError(
      'The backup was made by a Tabbat before 0.3.0, which no release can read: make a new one with this version. Nothing was changed.',
    )
  if (!(Number(header.version) <= FORMAT_VERSION && Number(header.schema) <= SCHEMA_VERSION))
    throw new UserError(
      `The backup was made by a newer Tabbat (schema ${Number(header.schema)}, this one knows ${SCHEMA_VERSION}). Update Tabbat. Nothing was changed.`,
    )
  return header as Header
}

function toTable({ table, columns }: Partial<Record<string, unknown>>): Pick<Rows, 'table' | 'columns'> {
  const named = Array.isArray(columns) && columns.every((name) => /^[a-z][a-z0-9_]{0,62}$/.test(String(name)))
  if (!isDataTable(table) || !named) throw new Damaged()
  return { table, columns: columns as string[] }
}

function toRow(values: readonly unknown[], width: number): Value[] {
  if (values.length !== width) throw new Damaged()
  return values.map((value) => {
    const decoded = decodeValue(value)
    if (decoded === undefined) throw new Damaged()
    return decoded
  })
}

const countBytes = (row: readonly Value[]) =>
  row.reduce<number>(
    (sum, value) => sum + (typeof value === 'string' || value instanceof Uint8Array ? value.length : 8),
    0,
  )

/** Tables without rows may be missing on either side. */
const isSame = (said: Counts, found: Counts) =>
  (Object.keys({ ...found, ...said }) as DataTable[]).every(
    (table) => (said[table] ?? 0) === (found[table] ?? 0),
  )
