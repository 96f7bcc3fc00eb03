/**
 * Calls to vendors for each minute, hour and day, by result and class of duration, and what they cost. Rows are separate for
 * each node, so that no node waits for another.
 */
export const sourceCalls = {
  id: 35,
  sql: [
    `CREATE TABLE source_calls (
      span TEXT NOT NULL,
      at TEXT NOT NULL,
      node TEXT NOT NULL,
      source TEXT NOT NULL,
      operation TEXT NOT NULL,
      result TEXT NOT NULL,
      class BIGINT NOT NULL,
      count BIGINT NOT NULL,
      kobo BIGINT NOT NULL,
      PRIMARY KEY (span, at, node, source, operation, result, class)
    )`,
  ],
  postgres: [
    // As for the other counters: see 0023-autovacuum.ts.
    `ALTER TABLE source_calls SET
      (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000)`,
  ],
} as const
