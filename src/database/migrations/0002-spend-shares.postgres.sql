-- What each node has spent on a source on a day, and how much of the daily cap it has leased: see sources/spend-leases.ts. Only the
-- node writes its row with every call, so that nodes do not wait for each other. A lease is part of source_spend.kobo.
CREATE TABLE spend_shares (
  name TEXT NOT NULL,
  day BIGINT NOT NULL,
  node TEXT NOT NULL,
  calls BIGINT NOT NULL,
  kobo BIGINT NOT NULL,
  leased_kobo BIGINT NOT NULL,
  PRIMARY KEY (name, day, node)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- The same for each API key and month.
CREATE TABLE key_spend_shares (
  month TEXT NOT NULL,
  key_id TEXT NOT NULL,
  name TEXT NOT NULL,
  node TEXT NOT NULL,
  calls BIGINT NOT NULL,
  kobo BIGINT NOT NULL,
  PRIMARY KEY (month, key_id, name, node)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- The parts of a commit: see functions/commit-verifications.sql.
CREATE TYPE commit_guess AS (
  subject BYTEA,
  key_id TEXT,
  is_wrong BOOL,
  quota BIGINT,
  before_all INT,
  before_key INT,
  id TEXT
);
CREATE TYPE commit_claim AS (
  key_id TEXT,
  operation TEXT,
  name BYTEA,
  fingerprint BYTEA,
  subject BYTEA,
  owner TEXT,
  lease_ms BIGINT,
  expires_at BIGINT,
  paid_calls BIGINT
);
CREATE TYPE commit_payment AS (
  key_id TEXT,
  operation TEXT,
  name BYTEA,
  owner TEXT,
  max_calls BIGINT,
  expires_at BIGINT,
  refunded BIGINT
);
CREATE TYPE commit_end AS (
  key_id TEXT,
  operation TEXT,
  name BYTEA,
  owner TEXT,
  sealed BYTEA,
  expires_at BIGINT,
  subject BYTEA
);
CREATE TYPE commit_release AS (
  key_id TEXT,
  operation TEXT,
  name BYTEA,
  owner TEXT,
  refunded BIGINT,
  failure TEXT
);
CREATE TYPE commit_settled AS (
  subject BYTEA,
  id TEXT,
  is_failed BOOL
);
CREATE TYPE commit_kept AS (
  subject BYTEA,
  sealed BYTEA,
  expires_at BIGINT
);
