/**
 * The request log, in compressed blocks of many lines: a row for each request would cost more than the request log may. Each
 * process writes its own blocks, in the order of time. `counts` has the requests of a block by key, operation and status, so that
 * a search passes over blocks that cannot match. A block spans one hour at most.
 */
const toColumns = (bytes: string) => `(
  owner TEXT NOT NULL,
  first BIGINT NOT NULL,
  from_at BIGINT NOT NULL,
  to_at BIGINT NOT NULL,
  requests BIGINT NOT NULL,
  counts TEXT NOT NULL,
  lines ${bytes} NOT NULL,
  PRIMARY KEY (owner, first)
)`

export const requestLog = {
  id: 34,
  sql: [],
  sqlite: [
    `CREATE TABLE request_blocks ${toColumns('BLOB')}`,
    'CREATE INDEX request_blocks_time ON request_blocks (to_at, requests)',
  ],
  postgres: [
    `CREATE TABLE request_blocks ${toColumns('BYTEA')} WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000)`,
    // Compressed already.
    'ALTER TABLE request_blocks ALTER COLUMN lines SET STORAGE EXTERNAL',
    'CREATE INDEX request_blocks_time ON request_blocks (to_at, requests)',
  ],
} as const
