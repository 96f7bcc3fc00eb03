/** Tokens of the admin API. `hash` is keyed with a pepper that is not in the database. */
export const adminTokens = {
  id: 37,
  sql: [
    `CREATE TABLE admin_tokens (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      hash BYTEA NOT NULL,
      role TEXT NOT NULL,
      allowed_ips TEXT,
      made_by TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      revoked_at BIGINT,
      last_used_at BIGINT
    )`,
  ],
} as const
