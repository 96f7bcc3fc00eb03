/** Paid calls of each key in a month of Lagos time, such as 2026-11, and their price in kobo. */
export const keySpend = {
  id: 51,
  sql: [
    `CREATE TABLE key_spend (
      month TEXT NOT NULL,
      key_id TEXT NOT NULL,
      name TEXT NOT NULL,
      calls BIGINT NOT NULL,
      kobo BIGINT NOT NULL,
      PRIMARY KEY (month, key_id, name)
    )`,
  ],
} as const
