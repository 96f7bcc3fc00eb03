/**
 * PostgreSQL cleans a table up when a fifth of it has changed. For tables that change all the time and are small, or are large
 * and lose their oldest rows every hour, that is too late: they would grow far beyond what they hold.
 */
const OFTEN = 'autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000'

export const autovacuum = {
  id: 23,
  sql: [],
  postgres: [
    ...['attempts', 'key_subjects', 'idempotency', 'reused_results'].map(
      (table) => `ALTER TABLE ${table} SET (${OFTEN})`,
    ),
    // Counters: a page with free space takes the new version of a row, and no index is changed.
    ...['key_days', 'statistics', 'latencies', 'source_spend', 'audit_chains'].map(
      (table) => `ALTER TABLE ${table} SET (fillfactor = 70, ${OFTEN})`,
    ),
  ],
} as const
