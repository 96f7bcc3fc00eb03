/**
 * Every table that holds data, in the order in which a backup keeps and a restore fills them. A migration that makes a
 * table adds it here; a test fails when one is missing. Columns are found out, so a new one needs nothing.
 *
 * A backup of an older schema is put into the tables of today, and columns it does not know take their defaults: a
 * migration that rewrites data must be followed by what does the same after a restore.
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
  'source_switches',
  'source_spend',
  'source_states',
  'reused_results',
  'catalogue_versions',
  'catalogue_syncs',
  'catalogue_reviews',
  'accounts',
  'statistics',
  'latencies',
  'audit',
  'audit_chains',
  'checkpoints',
] as const
export type DataTable = (typeof DATA_TABLES)[number]

/**
 * In no backup, and a restore empties them: good for hours only and worth stealing, or of use only to a process that was
 * running before.
 */
export const TRANSIENT_TABLES = ['sessions', 'invitations', 'source_refunds'] as const

/** The database itself refuses to take rows out of these. */
export const APPEND_ONLY: readonly DataTable[] = ['audit', 'checkpoints']

export const isDataTable = (name: unknown): name is DataTable => DATA_TABLES.includes(name as DataTable)

/** How many rows are in memory at once; pictures are large. */
export const rowsAtOnce = (table: DataTable) => (table === 'media' ? 4 : 200)
