/**
 * One row for each account and each webhook endpoint that was removed: after a restore of an older backup they are removed
 * again. `created_at` tells an account from a later one of the same name.
 */
export const removedAccess = {
  id: 55,
  sql: [
    `CREATE TABLE removed_access (
      kind TEXT NOT NULL,
      id TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      removed_at BIGINT NOT NULL,
      PRIMARY KEY (kind, id, created_at)
    )`,
  ],
} as const
