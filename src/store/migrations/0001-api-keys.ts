/** Times are milliseconds since 1970; lists are comma-separated. */
export const apiKeys = {
  id: 1,
  sql: [
    `CREATE TABLE api_keys (
      id TEXT PRIMARY KEY,
      mode TEXT NOT NULL,
      name TEXT NOT NULL,
      hash BYTEA NOT NULL,
      scopes TEXT NOT NULL,
      allowed_ips TEXT,
      created_at BIGINT NOT NULL,
      expires_at BIGINT,
      revoked_at BIGINT,
      rolled_to TEXT
    )`,
  ],
} as const
