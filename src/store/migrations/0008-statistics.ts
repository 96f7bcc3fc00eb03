/**
 * Verifications by outcome for each minute, hour and day: written in the same commit as the audit rows, so that the two cannot
 * differ. Rows are separate for each `chain`, so that no node waits for another. `latencies` is a histogram of response times.
 */
export const statistics = {
  id: 8,
  sql: [
    `CREATE TABLE statistics (
      span TEXT NOT NULL,
      at TEXT NOT NULL,
      chain TEXT NOT NULL,
      operation TEXT NOT NULL,
      mode TEXT NOT NULL,
      outcome TEXT NOT NULL,
      key_id TEXT NOT NULL,
      source TEXT NOT NULL,
      count BIGINT NOT NULL,
      last_at TEXT NOT NULL,
      last_reference TEXT NOT NULL,
      PRIMARY KEY (span, at, chain, operation, mode, outcome, key_id, source)
    )`,
    `CREATE TABLE latencies (
      span TEXT NOT NULL,
      at TEXT NOT NULL,
      node TEXT NOT NULL,
      mode TEXT NOT NULL,
      class BIGINT NOT NULL,
      count BIGINT NOT NULL,
      PRIMARY KEY (span, at, node, mode, class)
    )`,
  ],
} as const
