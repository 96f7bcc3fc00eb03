/**
 * Accounts of the console. Sessions and invitations are stored under the SHA-256 of a random token, so the table does not reveal
 * usable tokens. A password is stored as a hash with its parameters.
 */
export const consolePeople = {
  id: 7,
  sql: [
    `CREATE TABLE accounts (
      name TEXT PRIMARY KEY,
      role TEXT NOT NULL,
      password TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      last_seen_at BIGINT
    )`,
    `CREATE TABLE sessions (
      id BYTEA PRIMARY KEY,
      account TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      seen_at BIGINT NOT NULL
    )`,
    'CREATE INDEX sessions_account ON sessions (account)',
    `CREATE TABLE invitations (
      id BYTEA PRIMARY KEY,
      role TEXT NOT NULL,
      account TEXT,
      made_by TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL
    )`,
  ],
} as const
