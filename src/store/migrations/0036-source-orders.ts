/** The order in which the sources are called, when it was changed while the servers run. Without a row, the setting counts. */
export const sourceOrders = {
  id: 36,
  sql: [
    `CREATE TABLE source_orders (
      kind TEXT PRIMARY KEY,
      names TEXT NOT NULL,
      changed_at BIGINT NOT NULL
    )`,
  ],
} as const
