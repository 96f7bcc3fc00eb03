/**
 * The server processes of this database, one row each, renewed every second. Not logged in PostgreSQL: the rows are of no use
 * after a crash, and renewing them waits for no disk and no standby, so a slow standby makes no process look dead.
 *
 * `shared_clock` is the clock that all nodes share. Its argument is the clock of the process, which SQLite uses instead.
 */
const COLUMNS = `(
  owner TEXT PRIMARY KEY,
  node TEXT NOT NULL,
  worker BIGINT NOT NULL,
  version TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  in_flight BIGINT NOT NULL,
  requests_per_s BIGINT NOT NULL,
  lag_ms BIGINT NOT NULL
)`

export const nodes = {
  id: 25,
  sql: [],
  sqlite: [`CREATE TABLE nodes ${COLUMNS}`],
  postgres: [
    `CREATE UNLOGGED TABLE nodes ${COLUMNS} WITH (fillfactor = 50)`,
    `CREATE FUNCTION shared_clock(process_ms BIGINT) RETURNS BIGINT LANGUAGE sql STABLE AS $$
      SELECT (EXTRACT(EPOCH FROM statement_timestamp()) * 1000)::bigint
    $$`,
  ],
} as const
