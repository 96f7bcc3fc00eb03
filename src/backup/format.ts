import type { DataTable } from '../store/data-tables.ts'
import type { Row, Value } from '../store/database.ts'

/**
 * A backup is gzipped text, a JSON value a line, the same whichever database it came from:
 *
 *   {"format":"tabbat-backup","version":1,"schema":2,"root_fingerprint":"…","created_at":"…"}
 *   {"table":"api_keys","columns":["id","mode",…]}
 *   ["k3J…","live",{"base64":"…"},null,…]
 *   {"end":true,"counts":{"api_keys":1,…},"sha256":"…"}
 *
 * The hash is that of every line before it.
 */
export const FORMAT = 'tabbat-backup'
export const FORMAT_VERSION = 1

export type Header = {
  readonly format: typeof FORMAT
  readonly version: number
  readonly schema: number
  readonly root_fingerprint: string
  readonly created_at: string
}

export type Counts = Partial<Record<DataTable, number>>

export type End = { readonly end: true; readonly counts: Counts; readonly sha256: string }

/** The largest line is a picture of 1 MiB; what is longer is no backup of ours. */
export const LONGEST_LINE = 16 * 1024 * 1024

type Encoded = string | number | null | { readonly base64: string }

export const encodeRow = (columns: readonly string[], row: Row): string =>
  JSON.stringify(columns.map((column) => encodeValue(row[column])))

function encodeValue(value: unknown): Encoded {
  if (value instanceof Uint8Array)
    return { base64: Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64') }
  if (value === null || typeof value === 'string' || typeof value === 'number') return value
  throw new Error(`a column holds a ${typeof value}, which a backup cannot keep`)
}

/** Undefined when it is no value of a row. */
export function decodeValue(value: unknown): Value | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value
  const { base64 } = value as { base64?: unknown }
  return typeof base64 === 'string' ? Buffer.from(base64, 'base64') : undefined
}
