import type { LoggedRow } from '../../ledger/audit-row.ts'

/** An extract is a signed file of audit rows: a header, rows with the checkpoints that prove them, and an end. */
export type ExtractRecord = ExtractHeader | ExtractCheckpoint | ExtractRow | ExtractEnd

/** What was exported: a JSON text of ExtractAbout. */
type ExtractHeader = { readonly record: 'extract'; readonly body: string }

/** It stands before the first row that it proves. */
type ExtractCheckpoint = {
  readonly record: 'checkpoint'
  /** 1, 2, 3, … in this file. */
  readonly checkpoint: number
  readonly time: string
  readonly body: string
  readonly signature: string
}

type ExtractRow = Omit<LoggedRow, 'previous_hash' | 'hash'> & {
  readonly record: 'row'
  /** In hex, as the hash of the row. */
  readonly previous_hash: string
  readonly hash: string
  readonly key_name: string | null
  /** What `detail` says of it. Extracts of 0.3 do not have it. */
  readonly purpose?: string | null
  /** The number of the checkpoint that proves the row; null when none covers it. */
  readonly checkpoint: number | null
  /** The hashes of the path from the row to the signed root, separated by spaces. */
  readonly path: string | null
}

/** A JSON text of ExtractStatement, and its signature. */
export type ExtractEnd = { readonly record: 'end'; readonly body: string; readonly signature: string }

export type ExtractAbout = {
  readonly kind: typeof EXTRACT_KIND
  readonly version: 1
  readonly made_at: string
  /** Whether it has every row of each verification that fits, or every row that fits. */
  readonly view: 'verifications' | 'rows'
  readonly filter: Readonly<Record<string, string>>
  /** How many archives of the log were not read. Their rows are not in the extract. */
  readonly archives: number
  /** The log is that of `tabbat demo`. Absent otherwise. */
  readonly demonstration?: true
}

export type ExtractStatement = {
  readonly kind: typeof END_KIND
  readonly version: 1
  readonly rows: number
  /** Rows that no checkpoint covers. */
  readonly unproved: number
  /** Of all bytes before the end. */
  readonly sha256: string
}

export const EXTRACT_KIND = 'tabbat-audit-extract'
export const END_KIND = 'tabbat-audit-extract-end'

export type ExtractFormat = 'ndjson' | 'csv'
export const EXTRACT_FORMATS: readonly ExtractFormat[] = ['ndjson', 'csv']

export const toJsonLine = (record: ExtractRecord): string => `${JSON.stringify(record)}\n`

/** What a person reads first. Every record has all columns; those that it does not have are empty. */
const COLUMNS: readonly string[] = [
  'record',
  'time',
  'phase',
  'request_reference',
  'key_name',
  'key_id',
  'mode',
  'operation',
  'outcome',
  'sources',
  'released',
  'consent_reference',
  'purpose',
  'amount',
  'detail',
  'started_at',
  'subject',
  'chain',
  'sequence',
  'fields_released',
  'format',
  'previous_hash',
  'hash',
  'checkpoint',
  'path',
  'body',
  'signature',
]

const COLUMNS_OF_0_3 = COLUMNS.filter((name) => name !== 'purpose')

const NUMBERS: readonly string[] = ['sequence', 'format', 'checkpoint']

export const CSV_HEADER = toHeader(COLUMNS)

function toHeader(columns: readonly string[]): string {
  return `${columns.join(',')}\r\n`
}

/** The columns that the first line of a CSV file names; undefined if it is not the header of an extract. */
export const readCsvHeader = (line: string | undefined): readonly string[] | undefined =>
  [COLUMNS, COLUMNS_OF_0_3].find((columns) => toHeader(columns) === line)

export const toCsvLine = (record: ExtractRecord, columns = COLUMNS): string =>
  `${columns.map((name) => toCell((record as Readonly<Record<string, unknown>>)[name])).join(',')}\r\n`

/**
 * A spreadsheet would run a text that begins so as a formula: an apostrophe makes it a text. A text that begins with an
 * apostrophe gets another one, so that the cell can be read back.
 */
const GUARDED = /^[=+\-@\t\r\n'＝＋－＠]/

/** An empty cell is null, and two quotes are an empty text. */
function toCell(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = String(value)
  const safe = GUARDED.test(text) ? `'${text}` : text
  return safe === '' || /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** The record of a line as `toCsvLine` writes it; undefined if it is written in another way. */
export function parseCsvLine(line: string, columns = COLUMNS): Readonly<Record<string, unknown>> | undefined {
  const cells = splitCells(line)
  if (cells.length !== columns.length) return undefined
  const record = Object.fromEntries(columns.map((name, index) => [name, toValue(name, cells[index] ?? '')]))
  return toCsvLine(record as unknown as ExtractRecord, columns) === line ? record : undefined
}

const CELL = /"[^"]*(?:""[^"]*)*"|[^",]*/y

/** With their quotes. Fewer than there are columns if the line is not CSV. */
function splitCells(line: string): string[] {
  const text = line.replace(/\r\n$/, '')
  const cells: string[] = []
  for (let at = 0; at <= text.length; at += 1) {
    CELL.lastIndex = at
    const [cell = ''] = CELL.exec(text) ?? []
    cells.push(cell)
    at += cell.length
    if (at < text.length && text[at] !== ',') return []
  }
  return cells
}

function toValue(name: string, cell: string): string | number | null {
  if (cell === '') return null
  const text = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell
  const plain = text.startsWith("'") ? text.slice(1) : text
  return NUMBERS.includes(name) ? Number(plain) : plain
}
