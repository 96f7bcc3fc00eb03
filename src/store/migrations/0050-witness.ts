/**
 * Which checkpoints of the audit log were sent to a witness. All before `sent_before` were; of the others, those in
 * `witness_receipts`. One process at a time sends: the holder.
 */
export const witness = {
  id: 50,
  sql: [
    `CREATE TABLE witness_states (
      target TEXT PRIMARY KEY,
      sent_before TEXT NOT NULL,
      last_sent TEXT,
      sent_at BIGINT,
      failing_since BIGINT,
      failure TEXT,
      holder TEXT NOT NULL,
      held_until BIGINT NOT NULL
    )`,
    `CREATE TABLE witness_receipts (
      target TEXT NOT NULL,
      time TEXT NOT NULL,
      signature TEXT NOT NULL,
      PRIMARY KEY (target, time, signature)
    )`,
  ],
} as const
