/** Ids of recorded refunds: a refund that is sent again after a lost confirmation changes nothing. */
export const sourceRefunds = {
  id: 10,
  sql: [
    `CREATE TABLE source_refunds (
      id TEXT PRIMARY KEY,
      day BIGINT NOT NULL
    )`,
    'CREATE INDEX source_refunds_day ON source_refunds (day)',
  ],
} as const
