/**
 * Stored responses without an index on the keyed hash of the person: it wrote a random page for almost every response. An
 * erasure, which is rare, finds the person by reading the index on the expiry, to which rows are added at the end.
 *
 * SQLite would overwrite the old pages with zeros. They hold nothing that the table does not hold.
 */
const sql = [
  'DROP INDEX idempotency_subject',
  'DROP INDEX idempotency_expires',
  'CREATE INDEX idempotency_expires ON idempotency (expires_at, subject)',
] as const

export const idempotencyIndex = {
  id: 20,
  sql: [],
  sqlite: ['PRAGMA secure_delete = FAST', ...sql, 'PRAGMA secure_delete = ON'],
  postgres: sql,
} as const
