import type { LoggedRow } from '../ledger/audit-row.ts'

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
