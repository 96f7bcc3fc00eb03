-- What callers got for verifications: how many answers of each code (an outcome, an error code, or aborted). Each process writes its own
-- rows, with the number so far, so that a write that is repeated counts nothing twice.
CREATE TABLE answers (
  span TEXT NOT NULL,
  at TEXT NOT NULL,
  node TEXT NOT NULL,
  mode TEXT NOT NULL,
  code TEXT NOT NULL,
  count BIGINT NOT NULL,
  PRIMARY KEY (span, at, node, mode, code)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
