/**
 * Counts of wrong passwords and codes, so that they survive a restart and all nodes share them. `id` is a keyed hash: the table
 * holds no account names and no addresses. `account` is the keyed hash of the account whose counts a password reset deletes.
 */
export const signInFailures = {
  id: 42,
  sql: [
    `CREATE TABLE sign_in_failures (
      id TEXT PRIMARY KEY,
      account TEXT,
      failures BIGINT NOT NULL,
      wait_until BIGINT NOT NULL,
      at BIGINT NOT NULL
    )`,
    'CREATE INDEX sign_in_failures_account ON sign_in_failures (account)',
    'CREATE INDEX sign_in_failures_at ON sign_in_failures (at)',
  ],
} as const
