import type { ExtractRecord } from './extract-record.ts'

/** What a person reads first. Every record has all columns; those that it does not have are empty. */
const COLUMNS = [
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
] as const

const NUMBERS: readonly string[] = ['sequence', 'format', 'checkpoint']

export const CSV_HEADER = `${COLUMNS.join(',')}\r\n`

export const toCsvLine = (record: ExtractRecord): string =>
  `${COLUMNS.map((name) => toCell((record as Readonly<Record<string, unknown>>)[name])).join(',')}\r\n`

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
export function parseCsvLine(line: string): Readonly<Record<string, unknown>> | undefined {
  const cells = splitCells(line)
  if (cells.length !== COLUMNS.length) return undefined
  const record = Object.fromEntries(COLUMNS.map((name, index) => [name, toValue(name, cells[index] ?? '')]))
  return toCsvLine(record as unknown as ExtractRecord) === line ? record : undefined
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
