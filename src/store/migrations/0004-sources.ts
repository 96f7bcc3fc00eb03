/** State of the sources that all nodes share: which are disabled, what was spent, and results for reuse. */
export const sources = {
  id: 4,
  sql: [
    `CREATE TABLE source_switches (
      name TEXT PRIMARY KEY,
      disabled_at BIGINT NOT NULL
    )`,
    `CREATE TABLE source_spend (
      name TEXT NOT NULL,
      day BIGINT NOT NULL,
      calls BIGINT NOT NULL,
      kobo BIGINT NOT NULL,
      PRIMARY KEY (name, day)
    )`,
    `CREATE TABLE source_states (
      node TEXT NOT NULL,
      name TEXT NOT NULL,
      operation TEXT NOT NULL,
      state TEXT NOT NULL,
      at BIGINT NOT NULL,
      PRIMARY KEY (node, name, operation)
    )`,
    `CREATE TABLE reused_results (
      subject BYTEA PRIMARY KEY,
      sealed BYTEA NOT NULL,
      expires_at BIGINT NOT NULL
    )`,
    'CREATE INDEX reused_results_expires ON reused_results (expires_at)',
  ],
} as const
