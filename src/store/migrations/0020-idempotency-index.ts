/**
 * Stored responses without an index on the keyed hash of the person: it wrote a random page for almost every response. An
 * erasure, which is rare, finds the person by reading the index on the expiry, to which rows are added at the end.
 *
 * SQLite would overwrite the old pages with zeros. They hold nothing that the table does not hold.
 *
 * In PostgreSQL the index may have been created beforehand, without blocking anything: see docs/upgrading.md.
 */
const drop = ['DROP INDEX idempotency_subject', 'DROP INDEX idempotency_expires'] as const
const columns = 'ON idempotency (expires_at, subject)'

export const idempotencyIndex = {
  id: 20,
  sql: [],
  sqlite: [
    'PRAGMA secure_delete = FAST',
    ...drop,
    `CREATE INDEX idempotency_expires ${columns}`,
    'PRAGMA secure_delete = ON',
  ],
  postgres: [
    ...drop,
    'ALTER INDEX IF EXISTS idempotency_expires_next RENAME TO idempotency_expires',
    `CREATE INDEX IF NOT EXISTS idempotency_expires ${columns}`,
  ],
} as const
