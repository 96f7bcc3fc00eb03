import type { Kind } from '../../crypto/mac.ts'
import { UserError } from '../../errors.ts'
import { BadRow, isShownName, toFieldNames } from './record-fields.ts'

export type Column = { readonly group: string | undefined; readonly field: string }

type GivenRow = Record<string, unknown>

/** Reads the header. Names are shown only when it surely is a header: without one, the first line holds personal data. */
export function readHeader(kind: Kind, text: string, file: string): Column[] {
  const names = toCells(text).map((name) => name.trim())
  const required = [`${kind}_number`, 'personal_info.phone_number']
  const known = new Set(toFieldNames(kind))
  const unknown = names.filter((name) => !known.has(name))
  if (!required.every((name) => names.includes(name))) {
    if (required.every((name) => text.split(/[;\t]/).some((cell) => toPlainName(cell) === name)))
      throw new UserError(
        `The columns of ${file} must be separated by commas, and are separated by semicolons or tabs.`,
      )
    const isHeader = unknown.length < names.length && unknown.length > 0 && unknown.every(isShownName)
    const others = isHeader ? ` Unknown columns: ${unknown.join(', ')}.` : ''
    throw new UserError(
      `The first line of ${file} must be a header with ${required.join(', ')} in it.${others}`,
    )
  }
  // A header whose line end is missing or is a lone carriage return continues with the first person.
  if (!unknown.every(isShownName))
    throw new UserError(
      `The first line of ${file} has names that are not columns and may be values. Give the header a line of its own that ends with a line feed, with the columns of docs/import.md.`,
    )
  if (unknown.length > 0) throw new UserError(`${file} has unknown columns: ${unknown.join(', ')}.`)
  const twice = names.filter((name, index) => names.indexOf(name) !== index)
  if (twice.length > 0) throw new UserError(`${file} has columns twice: ${twice.join(', ')}.`)
  return names.map((name) => {
    const [first = '', second] = name.split('.')
    return second === undefined ? { group: undefined, field: first } : { group: first, field: second }
  })
}

const toPlainName = (cell: string) => cell.trim().replace(/^"(.*)"$/, '$1')

/** Whether a first line that should be JSON is the header of a CSV file. */
export const isLikeHeader = (line: string): boolean =>
  !/^\s*[{[]/.test(line) && /\b(?:nin|bvn)_number\b/.test(line)

/** The row as it would be in JSON: an empty cell is no data. */
export function toGivenRow(columns: readonly Column[], text: string): GivenRow {
  const cells = toCells(text)
  if (cells.length !== columns.length)
    throw new BadRow(`the row has ${cells.length} cells, the header has ${columns.length}`)
  const row: GivenRow = {}
  for (let index = 0; index < columns.length; index++) {
    const { group, field } = columns[index] as Column
    if (cells[index] === '') continue
    if (group === undefined) row[field] = cells[index]
    else {
      row[group] ??= {}
      ;(row[group] as GivenRow)[field] = cells[index]
    }
  }
  return row
}

/** The cells of a row, after RFC 4180. */
export function toCells(text: string): string[] {
  if (!text.includes('"')) return text.split(',')
  const cells: string[] = []
  for (let start = 0; start <= text.length; ) {
    const end = text[start] === '"' ? findCellEnd(text, start + 1) : toEnd(text, text.indexOf(',', start))
    const cell = text.slice(start, end)
    cells.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)
    start = end + 1
  }
  return cells
}

function findCellEnd(text: string, from: number): number {
  let quote = text.indexOf('"', from)
  while (quote !== -1 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2)
  if (quote === -1) throw new BadRow('a quote is not closed')
  const end = quote + 1
  if (end < text.length && text[end] !== ',') throw new BadRow('a quote ends within a cell')
  return end
}

const toEnd = (text: string, at: number) => (at === -1 ? text.length : at)
