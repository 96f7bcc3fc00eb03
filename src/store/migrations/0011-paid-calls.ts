/**
 * What an Idempotency-Key has cost so far, the code of its last failure, and whom it is about (a keyed hash, so that an
 * erasure finds kept answers; absent in rows of an older version, which live for 24 hours).
 */
export const paidCalls = {
  id: 11,
  sql: [
    'ALTER TABLE idempotency ADD COLUMN paid_calls BIGINT NOT NULL DEFAULT 0',
    'ALTER TABLE idempotency ADD COLUMN last_failure TEXT',
    'ALTER TABLE idempotency ADD COLUMN subject BYTEA',
    'CREATE INDEX idempotency_subject ON idempotency (subject)',
  ],
} as const
