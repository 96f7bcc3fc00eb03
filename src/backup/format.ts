import type { KeyObject } from 'node:crypto'
import type { RootKeys } from '../crypto/root-key.ts'
import type { Row, Value } from '../database/database.ts'
import { UserError } from '../errors.ts'

/**
 * A backup is gzipped text with one JSON value a line, the same for both databases:
 *
 *   {"format":"tabbat-backup","version":3,"schema":1,"root_fingerprint":"…","created_at":"…"}
 *   {"table":"api_keys","columns":["id","mode",…]}
 *   ["k3J…","live",{"base64":"…"},null,…]
 *   {"end":true,"counts":{"api_keys":1,…},"mac":"…"}
 *
 * The MAC (HMAC-SHA-256) covers every byte before it: all lines, their order, and the last line up to `,"mac"`. Its key is
 * derived from the root key that the header names. Versions 1 and 2 were never released.
 */
export const FORMAT = 'tabbat-backup'
export const FORMAT_VERSION = 3

export type Header = {
  readonly format: typeof FORMAT
  readonly version: number
  readonly schema: number
  readonly root_fingerprint: string
  readonly created_at: string
}

export type Counts = Partial<Record<DataTable, number>>

export type End = { readonly end: true; readonly counts: Counts; readonly mac: string }

/** The key under which a backup of that root key is authenticated. */
export function toBackupKey({ candidates, where }: RootKeys, header: Header): KeyObject {
  const root = candidates.find(({ fingerprint }) => fingerprint === header.root_fingerprint)
  if (root) return root.derive('backup')
  throw new UserError(
    `The root key (from ${where}) is not the one of this backup (fingerprint ${header.root_fingerprint.slice(0, 12)}…, ${header.created_at}). Put that key in place. Nothing was changed.`,
  )
}

/** What follows the bytes that the MAC of the last line covers. */
export const toMacText = (mac: string) => `,"mac":"${mac}"}`

/** The largest line is a picture of 1 MiB; a longer line means that this is not a backup. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024

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

/**
 * Every table that holds data, in the order of a backup and a restore. A migration that creates a table adds it here; a test
 * fails when one is missing. Columns are read from the database, so a new column needs no change here.
 *
 * A backup of an older schema is restored into the present tables, and new columns take their defaults: a migration that
 * rewrites data needs code that does the same after a restore.
 */
export const DATA_TABLES = [
  'meta',
  'api_keys',
  'registry',
  'media',
  'imports',
  'attempts',
  'key_subjects',
  'key_days',
  'idempotency',
  'queued_verifications',
  'queue_counts',
  'batches',
  'batch_rows',
  'batch_paces',
  'source_switches',
  'source_orders',
  'vendor_proofs',
  'source_spend',
  'key_spend',
  'spend_shares',
  'key_spend_shares',
  'source_states',
  'reused_results',
  'catalogue_versions',
  'catalogue_syncs',
  'catalogue_reviews',
  'accounts',
  'admin_tokens',
  'totp_secrets',
  'recovery_codes',
  'passkeys',
  'account_identities',
  'webhook_endpoints',
  'webhook_subscriptions',
  'webhook_deliveries',
  'webhook_attempts',
  'event_states',
  'unlogged_events',
  'statistics',
  'latencies',
  'answers',
  'source_calls',
  'field_policies',
  'audit',
  'audit_chains',
  'checkpoints',
  'audit_losses',
  'audit_archives',
  'erasures',
  'removed_access',
] as const
export type DataTable = (typeof DATA_TABLES)[number]

/**
 * Not in a backup, and emptied by a restore: valid for hours only and worth stealing, of use only to a process that has
 * ended, rebuilt from other tables, or a log of the past days.
 */
export const TRANSIENT_TABLES = [
  'sessions',
  'invitations',
  'sign_in_failures',
  'used_challenges',
  'source_refunds',
  'nodes',
  'rate_windows',
  'audit_subject_blocks',
  'audit_subject_pages',
  'request_blocks',
  'storage_sizes',
  'audit_consent_blocks',
  'audit_consent_pages',
  'node_findings',
  'incidents',
  'notices',
  'notice_channels',
] as const

/** Triggers in the database refuse to delete rows of these. */
export const APPEND_ONLY: readonly DataTable[] = ['field_policies', 'audit', 'checkpoints']

export const isDataTable = (name: unknown): name is DataTable => DATA_TABLES.includes(name as DataTable)

/** How many rows are held in memory at once; pictures are large. */
export const rowsAtOnce = (table: DataTable) => (table === 'media' ? 4 : 200)
