/**
 * People at the console. Sessions and invitations are named by the SHA-256 of a random token: who reads the table cannot
 * use them. A password is kept as text that says how it was hashed.
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
