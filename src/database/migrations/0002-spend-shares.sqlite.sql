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
);

-- The same for each API key and month.
CREATE TABLE key_spend_shares (
  month TEXT NOT NULL,
  key_id TEXT NOT NULL,
  name TEXT NOT NULL,
  node TEXT NOT NULL,
  calls BIGINT NOT NULL,
  kobo BIGINT NOT NULL,
  PRIMARY KEY (month, key_id, name, node)
);
