/**
 * The current minute of each key, from which nodes on PostgreSQL lease requests: see keys/node-leases.ts. Not logged: after a
 * crash of the database the minutes begin anew.
 */
const COLUMNS = `(
  key_id TEXT PRIMARY KEY,
  ends_at BIGINT NOT NULL,
  used BIGINT NOT NULL,
  granted BIGINT NOT NULL
)`

export const rateWindows = {
  id: 26,
  sql: [],
  sqlite: [`CREATE TABLE rate_windows ${COLUMNS}`],
  postgres: [`CREATE UNLOGGED TABLE rate_windows ${COLUMNS} WITH (fillfactor = 50)`],
} as const
