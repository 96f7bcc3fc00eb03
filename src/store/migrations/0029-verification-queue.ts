/**
 * Verifications that are answered later. The question and the answer are sealed; the question is erased when it is answered.
 *
 * `due_at` is null once a verification has ended. While a process works on one, it has a lease, and `due_at` is the end of the
 * lease: after it, any process may work on it. `expires_at` is the end of waiting, and afterwards the end of keeping the answer.
 * The subject, by which an erasure finds a row, is the last column of indexes to which rows are added at the end: an index of
 * its own would write a random page for every row.
 *
 * The counts bound the queue without reading it.
 */
export const verificationQueue = {
  id: 29,
  sql: [
    `CREATE TABLE queued_verifications (
      reference TEXT PRIMARY KEY,
      key_id TEXT NOT NULL,
      lineage TEXT NOT NULL,
      mode TEXT NOT NULL,
      operation TEXT NOT NULL,
      subject BYTEA NOT NULL,
      lane TEXT NOT NULL,
      batch TEXT,
      idempotency BYTEA,
      state TEXT NOT NULL,
      outcome TEXT,
      accepted_at BIGINT NOT NULL,
      due_at BIGINT,
      expires_at BIGINT NOT NULL,
      lease TEXT,
      attempts BIGINT NOT NULL DEFAULT 0,
      paid_calls BIGINT NOT NULL DEFAULT 0,
      question BYTEA,
      answer BYTEA
    )`,
    'CREATE INDEX queued_verifications_due ON queued_verifications (lane, mode, operation, due_at) WHERE due_at IS NOT NULL',
    'CREATE INDEX queued_verifications_pending ON queued_verifications (expires_at, subject) WHERE due_at IS NOT NULL',
    'CREATE INDEX queued_verifications_ended ON queued_verifications (expires_at, subject) WHERE due_at IS NULL',
    'CREATE INDEX queued_verifications_batch ON queued_verifications (batch) WHERE batch IS NOT NULL AND due_at IS NOT NULL',
    `CREATE TABLE queue_counts (
      lineage TEXT NOT NULL,
      lane TEXT NOT NULL,
      pending BIGINT NOT NULL,
      PRIMARY KEY (lineage, lane)
    )`,
  ],
  postgres: [
    `ALTER TABLE queued_verifications SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
      autovacuum_analyze_scale_factor = 0.05)`,
    'ALTER TABLE queue_counts SET (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.02)',
  ],
} as const
