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
  'source_spend',
  'key_spend',
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
] as const

/** Triggers in the database refuse to delete rows of these. */
export const APPEND_ONLY: readonly DataTable[] = ['field_policies', 'audit', 'checkpoints']

export const isDataTable = (name: unknown): name is DataTable => DATA_TABLES.includes(name as DataTable)

/** How many rows are held in memory at once; pictures are large. */
export const rowsAtOnce = (table: DataTable) => (table === 'media' ? 4 : 200)
