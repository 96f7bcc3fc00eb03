/**
 * Due verifications are taken from the keys in turn: the index leads from one key with pending work to the next, and to its
 * first due verification, however long the queue of a key is.
 */
export const queueByKey = {
  id: 54,
  sql: [
    'DROP INDEX queued_verifications_due',
    `CREATE INDEX queued_verifications_key ON queued_verifications (lane, lineage, mode, operation, due_at)
     WHERE due_at IS NOT NULL`,
  ],
} as const
