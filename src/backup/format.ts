import type { DataTable } from '../store/data-tables.ts'
import type { Row, Value } from '../store/database.ts'

/**
 * A backup is gzipped text with one JSON value a line, the same for both databases:
 *
 *   {"format":"tabbat-backup","version":1,"schema":2,"root_fingerprint":"…","created_at":"…"}
 *   {"table":"api_keys","columns":["id","mode",…]}
 *   ["k3J…","live",{"base64":"…"},null,…]
 *   {"end":true,"counts":{"api_keys":1,…},"sha256":"…"}
 *
 * The hash covers every line before it.
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

/** The largest line is a picture of 1 MiB; a longer line means that this is not a backup. */
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

/** Undefined when it is not a valid value. */
export function decodeValue(value: unknown): Value | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value
  const { base64 } = value as { base64?: unknown }
  return typeof base64 === 'string' ? Buffer.from(base64, 'base64') : undefined
}
