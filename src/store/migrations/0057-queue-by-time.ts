/** With very many keys, those with due work are found by the time it is due, without a look at each key. */
export const queueByTime = {
  id: 57,
  sql: [
    `CREATE INDEX queued_verifications_due ON queued_verifications (lane, mode, operation, due_at)
     WHERE due_at IS NOT NULL`,
  ],
} as const
