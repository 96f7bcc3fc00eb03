/**
 * The paid calls of an Idempotency-Key, the code of its last failure, and its subject (a keyed hash, so that an erasure finds
 * stored responses; null in rows of an older version, which expire after 24 hours).
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
