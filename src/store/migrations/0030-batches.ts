/**
 * Files of verifications. While a batch is received, its rows wait in `batch_rows`; after that they are moved to the queue of
 * verifications in the order of their lines, as fast as the key may. `fed_line` is the last row that was moved.
 *
 * `question` and `label` (the caller's own word for the row) are sealed. A row without a reference was refused. The subject, by
 * which an erasure finds rows, follows the batch in its index: rows of one batch stay together.
 *
 * `batch_paces` says until when the rows of a key are planned.
 */
export const batches = {
  id: 30,
  sql: [
    `CREATE TABLE batches (
      id TEXT PRIMARY KEY,
      key_id TEXT NOT NULL,
      lineage TEXT NOT NULL,
      mode TEXT NOT NULL,
      state TEXT NOT NULL,
      owner TEXT NOT NULL,
      idempotency BYTEA,
      fingerprint BYTEA,
      created_at BIGINT NOT NULL,
      touched_at BIGINT NOT NULL,
      accepted_at BIGINT,
      ended_at BIGINT,
      total BIGINT NOT NULL DEFAULT 0,
      refused BIGINT NOT NULL DEFAULT 0,
      fed BIGINT NOT NULL DEFAULT 0,
      fed_line BIGINT NOT NULL DEFAULT 0,
      verified BIGINT NOT NULL DEFAULT 0,
      not_verified BIGINT NOT NULL DEFAULT 0,
      failed BIGINT NOT NULL DEFAULT 0,
      expired BIGINT NOT NULL DEFAULT 0,
      cancelled BIGINT NOT NULL DEFAULT 0
    )`,
    'CREATE UNIQUE INDEX batches_idempotency ON batches (idempotency, lineage) WHERE idempotency IS NOT NULL',
    'CREATE INDEX batches_open ON batches (lineage, accepted_at) WHERE ended_at IS NULL',
    'CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL',
    'CREATE INDEX batches_created ON batches (created_at)',
    `CREATE TABLE batch_rows (
      batch TEXT NOT NULL,
      line BIGINT NOT NULL,
      reference TEXT,
      operation TEXT,
      subject BYTEA,
      question BYTEA,
      label BYTEA,
      refusals TEXT,
      PRIMARY KEY (batch, line)
    )`,
    'CREATE INDEX batch_rows_subject ON batch_rows (batch, subject) WHERE subject IS NOT NULL',
    `CREATE TABLE batch_paces (
      lineage TEXT PRIMARY KEY,
      paced_until BIGINT NOT NULL
    )`,
  ],
} as const
