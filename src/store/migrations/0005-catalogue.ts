/**
 * The lists of the catalogue after each change; the newest version is served. `catalogue_syncs` holds when each vendor was last
 * asked, so that only one of several nodes runs a sync.
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
