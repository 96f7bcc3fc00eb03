import { isUtf8 } from 'node:buffer'
import { AppError } from '../errors.ts'
import { toCells } from '../registry/import/csv.ts'
import { BadRow } from '../registry/import/record-fields.ts'
import { countLineEnds, findRowEnd, LINE_END, withoutLineEnd } from '../registry/import/rows.ts'
import { type ByteWindow, openByteWindow } from './byte-window.ts'
import { type InputRow, LONGEST_ROW_BYTES, NOT_UTF8, TOO_LONG } from './input-row.ts'

const NOT_CLOSED = 'The row cannot be read: a quote is not closed.'

/**
 * The rows of a CSV (RFC 4180) whose first line is a header. Names of other columns than `known` are ignored. An empty cell is
 * no data. Of a row on several lines that cannot be read, the first line is refused alone: a quote that is not closed does not
 * take other rows with it.
 */
export async function* readCsvRows(
  pieces: AsyncIterable<Buffer>,
  known: readonly string[],
): AsyncGenerator<InputRow> {
  const window = await openByteWindow(pieces)
  let columns: readonly string[] | undefined
  let line = 1
  for (let row = await takeRow(window); row; row = await takeRow(window)) {
    if ('problem' in row && !columns) throw toHeaderError(known)
    if ('problem' in row) yield { line, problem: row.problem }
    else if (row.cells.some((cell) => cell.trim() !== '')) {
      if (columns) yield toRow(line, columns, row.cells)
      else columns = readHeader(row.cells, known)
    }
    line += row.lines
  }
}

type TakenRow = { readonly lines: number } & ({ readonly cells: string[] } | { readonly problem: string })

/** Undefined at the end. */
async function takeRow(window: ByteWindow): Promise<TakenRow | undefined> {
  const { held, fill, drop } = window
  for (;;) {
    const found = findRowEnd('csv', held(), 0)
    const isEnd = found === -1 && held().length <= LONGEST_ROW_BYTES && !(await fill())
    if (found === -1 && !isEnd && held().length <= LONGEST_ROW_BYTES) continue
    if (isEnd && held().length === 0) return undefined
    const bytes = held().subarray(0, found === -1 ? held().length : found)
    const read =
      bytes.length > LONGEST_ROW_BYTES
        ? { problem: toLengthProblem(bytes) }
        : readCells(withoutLineEnd(bytes))
    if ('cells' in read) {
      drop(bytes.length)
      return { ...read, lines: countLineEnds(bytes) }
    }
    await dropLine(window)
    return { ...read, lines: 1 }
  }
}

/** A short line that begins a long row has a quote that is not closed. */
const toLengthProblem = (bytes: Buffer) =>
  bytes.subarray(0, LONGEST_ROW_BYTES).includes(LINE_END) ? NOT_CLOSED : TOO_LONG

function readCells(bytes: Buffer): { readonly cells: string[] } | { readonly problem: string } {
  if (!isUtf8(bytes)) return { problem: NOT_UTF8 }
  try {
    return { cells: toCells(bytes.toString()) }
  } catch (error) {
    if (!(error instanceof BadRow)) throw error
    return { problem: `The row cannot be read: ${error.message}.` }
  }
}

async function dropLine({ held, fill, drop }: ByteWindow): Promise<void> {
  for (;;) {
    const end = held().indexOf(LINE_END)
    drop(end === -1 ? held().length : end + 1)
    if (end !== -1 || !(await fill())) return
  }
}

function readHeader(cells: readonly string[], known: readonly string[]): string[] {
  const names = cells.map((cell) => cell.trim().toLowerCase())
  const found = names.filter((name) => known.includes(name))
  const twice = found.find((name, index) => found.indexOf(name) !== index)
  if (twice !== undefined)
    throw new AppError('validation_failed', { errors: { header: [`header has the column ${twice} twice`] } })
  if (found.length === 0) throw toHeaderError(known)
  return names
}

/** The header itself is not shown: without one, the first line holds personal data. */
const toHeaderError = (known: readonly string[]) =>
  new AppError('validation_failed', {
    errors: {
      header: [`header must be the first line, with columns out of ${known.join(', ')}, separated by commas`],
    },
  })

function toRow(line: number, columns: readonly string[], cells: readonly string[]): InputRow {
  if (cells.length !== columns.length)
    return { line, problem: `The row has ${cells.length} cells, the header has ${columns.length}.` }
  const fields = columns.flatMap((name, index) => (cells[index]?.trim() ? [[name, cells[index]]] : []))
  return { line, fields: Object.fromEntries(fields) as Record<string, string> }
}
