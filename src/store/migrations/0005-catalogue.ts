/**
 * The lists of the catalogue as they were after each change; the newest is in force. `catalogue_syncs` says when each
 * vendor was asked last, so that of several nodes one does the asking.
 */
export const catalogue = {
  id: 5,
  sql: [
    `CREATE TABLE catalogue_versions (
      id BIGINT PRIMARY KEY,
      at BIGINT NOT NULL,
      origin TEXT NOT NULL,
      author TEXT NOT NULL,
      content TEXT NOT NULL,
      digest TEXT NOT NULL
    )`,
    `CREATE TABLE catalogue_syncs (
      source TEXT PRIMARY KEY,
      started_at BIGINT NOT NULL,
      outcome TEXT
    )`,
  ],
} as const
