/**
 * One row for each erasure of a person: keyed hashes of the number, as each table knows it. A restore of an older backup
 * erases these people again. There are few, so the index on the subject costs nothing.
 */
export const erasures = {
  id: 47,
  sql: [
    `CREATE TABLE erasures (
      id TEXT PRIMARY KEY,
      kind TEXT NOT NULL,
      record BYTEA NOT NULL,
      reused BYTEA NOT NULL,
      subject BYTEA NOT NULL,
      erased_at BIGINT NOT NULL
    )`,
    'CREATE INDEX erasures_subject ON erasures (subject, erased_at)',
    'CREATE INDEX erasures_time ON erasures (erased_at, id)',
  ],
} as const
