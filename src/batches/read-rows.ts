import { AppError } from '../errors.ts'
import { ROW_FIELDS } from './batch-row.ts'
import { readCsvRows } from './csv-rows.ts'
import type { InputRow } from './input-row.ts'
import { readJsonArrayRows } from './json-array-rows.ts'
import { readNdjsonRows } from './ndjson-rows.ts'

/** The formats of a batch, by content type. */
export const BATCH_TYPES = {
  'application/x-ndjson': 'ndjson',
  'text/csv': 'csv',
  'application/json': 'json',
} as const
export type BatchFormat = (typeof BATCH_TYPES)[keyof typeof BATCH_TYPES]

export const MOST_ROWS = 50_000
export const MOST_BYTES = 16 * 1024 * 1024

/** Reads the rows of a batch one by one, within the bounds of a batch. */
export async function* readRows(
  format: BatchFormat,
  pieces: AsyncIterable<Buffer>,
  columns: readonly string[] = ROW_FIELDS,
): AsyncGenerator<InputRow> {
  let rows = 0
  for await (const row of openRows(format, limitBytes(pieces), columns)) {
    rows += 1
    if (rows > MOST_ROWS) throw new AppError('batch_too_large')
    yield row
  }
}

/** The rows of an input of any size. */
export function openRows(
  format: BatchFormat,
  pieces: AsyncIterable<Buffer>,
  columns: readonly string[],
): AsyncGenerator<InputRow> {
  if (format === 'csv') return readCsvRows(pieces, columns)
  return format === 'ndjson' ? readNdjsonRows(pieces) : readJsonArrayRows(pieces)
}

/** Throws when a body is longer than a batch may be. */
export async function* limitBytes(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of pieces) {
    bytes += piece.length
    if (bytes > MOST_BYTES) throw new AppError('batch_too_large')
    yield piece
  }
}
