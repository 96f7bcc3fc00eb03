/** Refunds that were written, by id: one that is sent again because its confirmation was lost changes nothing. */
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
