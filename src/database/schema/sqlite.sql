-- The tables of Tabbat in SQLite. A new database is built from this file. A change of it comes with a migration, which
-- gives databases from before the same tables: see migrations/README.md.
--
-- Times are milliseconds since 1970 unless they are text; lists are separated by commas; columns called `sealed`, and those that
-- are said to be, are AES-256-GCM. A statement ends with a semicolon before a line that is not indented.

-- The database

-- One row: the number of the last migration, and the hash of the functions.
CREATE TABLE schema_state (
  version BIGINT NOT NULL,
  functions TEXT NOT NULL
);

-- Facts about the database by name, such as the fingerprint of the root key.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);

-- The server processes of this database, one row each, renewed every second. Not logged in PostgreSQL: the rows are of no use
-- after a crash, and renewing them waits for no disk and no standby, so that a slow standby makes no process look dead.
CREATE TABLE nodes (
  owner TEXT PRIMARY KEY,
  node TEXT NOT NULL,
  worker BIGINT NOT NULL,
  version TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  in_flight BIGINT NOT NULL,
  requests_per_s BIGINT NOT NULL,
  lag_ms BIGINT NOT NULL
);

-- The size of the database at the end of each day (UTC), to tell how fast it grows.
CREATE TABLE storage_sizes (
  day BIGINT PRIMARY KEY,
  bytes BIGINT NOT NULL
);

-- API keys

-- API keys. `hash` is keyed with a pepper that is not in the database. `lineage` is the first key of a chain of rolled keys, whose
-- counters all of them share; null for a key that was not rolled from another. `client_certs` has the fingerprints of the TLS client
-- certificates that the key may be used with (null: none is needed), `require_match` the details that must match (name, dob or
-- both), `lifetime_ms` how long the key was made for, which its successor inherits.
CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  mode TEXT NOT NULL,
  name TEXT NOT NULL,
  hash BYTEA NOT NULL,
  scopes TEXT NOT NULL,
  allowed_ips TEXT,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  rolled_to TEXT,
  hide TEXT,
  reveal TEXT,
  subjects_per_day BIGINT,
  requires_consent BIGINT,
  lineage TEXT,
  client_certs TEXT,
  async_when_down BIGINT NOT NULL DEFAULT 0,
  require_match TEXT,
  owner TEXT,
  note TEXT,
  lifetime_ms BIGINT
);

-- The people that a key has asked about on a day, by keyed hash.
CREATE TABLE key_subjects (
  key_id TEXT NOT NULL,
  day BIGINT NOT NULL,
  subject BYTEA NOT NULL
);
CREATE INDEX key_subjects_day ON key_subjects (day);

-- How many people a key has asked about on a day.
CREATE TABLE key_days (
  key_id TEXT NOT NULL,
  day BIGINT NOT NULL,
  subjects BIGINT NOT NULL,
  PRIMARY KEY (key_id, day)
);

-- Paid calls of each key in a month of Lagos time, such as 2026-11, and their price in kobo.
CREATE TABLE key_spend (
  month TEXT NOT NULL,
  key_id TEXT NOT NULL,
  name TEXT NOT NULL,
  calls BIGINT NOT NULL,
  kobo BIGINT NOT NULL,
  PRIMARY KEY (month, key_id, name)
);

-- The current minute of each key, from which nodes on PostgreSQL lease requests. Not logged: after a crash of the database the
-- minutes begin anew.
CREATE TABLE rate_windows (
  key_id TEXT PRIMARY KEY,
  ends_at BIGINT NOT NULL,
  used BIGINT NOT NULL,
  granted BIGINT NOT NULL
);

-- Failed verifications of a person, which the guess limit counts.
CREATE TABLE attempts (
  subject BYTEA NOT NULL,
  key_id TEXT NOT NULL,
  at BIGINT NOT NULL,
  id TEXT
);
CREATE INDEX attempts_subject ON attempts (subject, at);
CREATE INDEX attempts_at ON attempts (at);

-- The registry

-- Records of people. `subject` is a keyed hash of the number, `sealed` is AES-256-GCM: nothing can be read without the root key. A
-- table with a unique index beside it is three times faster in SQLite than a clustered one. The index on the age finds the
-- records that no import has refreshed for long (TABBAT_RECORDS_KEEP).
CREATE TABLE registry (
  subject BYTEA NOT NULL,
  kind TEXT NOT NULL,
  key_version BIGINT NOT NULL,
  digest BYTEA NOT NULL,
  sealed BYTEA NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX registry_subject ON registry (subject);
CREATE INDEX registry_updated_at ON registry (updated_at);

-- Pictures of the records, sealed.
CREATE TABLE media (
  id BYTEA NOT NULL,
  subject BYTEA NOT NULL,
  key_version BIGINT NOT NULL,
  sealed BYTEA NOT NULL
);
CREATE UNIQUE INDEX media_id ON media (id);
CREATE INDEX media_subject ON media (subject);

-- How far an import has come, so that it continues after an interruption.
CREATE TABLE imports (
  id TEXT PRIMARY KEY,
  progress TEXT NOT NULL,
  updated_at BIGINT NOT NULL
);

-- The audit log

-- The audit log: append-only, chained by hashes. Triggers refuse an update or a delete from any client; only archived rows can be
-- deleted.
CREATE TABLE audit (
  chain TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  time TEXT NOT NULL,
  phase TEXT NOT NULL,
  request_reference TEXT,
  key_id TEXT,
  mode TEXT,
  operation TEXT,
  subject TEXT,
  outcome TEXT,
  sources TEXT,
  amount TEXT,
  consent_reference TEXT,
  fields_released TEXT,
  detail TEXT,
  previous_hash BYTEA NOT NULL,
  hash BYTEA NOT NULL,
  started_at TEXT,
  format BIGINT NOT NULL,
  PRIMARY KEY (chain, sequence)
);
CREATE INDEX audit_reference ON audit (request_reference);
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit log cannot be changed');
  END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
  WHEN COALESCE((SELECT archived_rows FROM audit_chains WHERE chain = OLD.chain), 0) < OLD.sequence BEGIN
  SELECT RAISE(ABORT, 'the audit log cannot be changed');
  END;

-- The names of released fields, stored once. `id` is a hash of the text, to which audit rows refer.
CREATE TABLE field_policies (
  id TEXT PRIMARY KEY,
  fields TEXT NOT NULL
);
CREATE TRIGGER field_policies_no_update BEFORE UPDATE ON field_policies BEGIN
  SELECT RAISE(ABORT, 'the audit log cannot be changed');
  END;
CREATE TRIGGER field_policies_no_delete BEFORE DELETE ON field_policies BEGIN
  SELECT RAISE(ABORT, 'the audit log cannot be changed');
  END;

-- The chains of the log. One process owns a chain at a time and extends it. A chain that is not extended any more is retired:
-- checkpoints do not repeat its last row for ever. `archive` is the archive that holds the chain, up to row `archived_rows`.
CREATE TABLE audit_chains (
  chain TEXT PRIMARY KEY,
  owner TEXT,
  beat_at BIGINT NOT NULL,
  retired_at BIGINT,
  archive BIGINT,
  archived_rows BIGINT
);

-- Signed statements of the last rows of all chains.
CREATE TABLE checkpoints (
  time TEXT NOT NULL,
  body TEXT NOT NULL,
  signature TEXT NOT NULL
);
CREATE INDEX checkpoints_time ON checkpoints (time);
CREATE TRIGGER checkpoints_no_update BEFORE UPDATE ON checkpoints BEGIN
  SELECT RAISE(ABORT, 'the audit log cannot be changed');
  END;
CREATE TRIGGER checkpoints_no_delete BEFORE DELETE ON checkpoints
  WHEN NOT EXISTS (SELECT 1 FROM audit_archives WHERE checkpoints_until >= OLD.time) BEGIN
  SELECT RAISE(ABORT, 'the audit log cannot be changed');
  END;

-- Audit rows by person, without an insert into a random page for every row: a block lists the subjects of up to 10 000 rows of a
-- chain, and is written once. The rows after the last block of a chain are scanned. Blocks can be rebuilt from the rows.
CREATE TABLE audit_subject_blocks (
  chain TEXT NOT NULL,
  first_sequence BIGINT NOT NULL,
  last_sequence BIGINT NOT NULL,
  PRIMARY KEY (chain, first_sequence)
);

-- The entries of a block of subjects, by bucket of the hash.
CREATE TABLE audit_subject_pages (
  chain TEXT NOT NULL,
  first_sequence BIGINT NOT NULL,
  bucket BIGINT NOT NULL,
  entries BYTEA NOT NULL,
  PRIMARY KEY (chain, first_sequence, bucket)
);

-- Audit rows by consent reference, in blocks as those of people.
CREATE TABLE audit_consent_blocks (
  chain TEXT NOT NULL,
  first_sequence BIGINT NOT NULL,
  last_sequence BIGINT NOT NULL,
  PRIMARY KEY (chain, first_sequence)
);

-- The entries of a block of consents, by bucket of the hash.
CREATE TABLE audit_consent_pages (
  chain TEXT NOT NULL,
  first_sequence BIGINT NOT NULL,
  bucket BIGINT NOT NULL,
  entries BYTEA NOT NULL,
  PRIMARY KEY (chain, first_sequence, bucket)
);

-- Acknowledged audit rows that a failover lost, as a node found them. No row is added to such a chain again. Verifications are
-- refused until an operator accepts the loss.
CREATE TABLE audit_losses (
  chain TEXT NOT NULL,
  kept BIGINT NOT NULL,
  acknowledged BIGINT NOT NULL,
  lost_references TEXT NOT NULL,
  found_at BIGINT NOT NULL,
  accepted_at BIGINT,
  PRIMARY KEY (chain, kept)
);

-- Archives of the audit log, each with its signed statement. Only rows and checkpoints that are in an archive can be deleted.
CREATE TABLE audit_archives (
  number BIGINT PRIMARY KEY,
  statement TEXT NOT NULL,
  signature TEXT NOT NULL,
  checkpoints_until TEXT NOT NULL,
  recorded_at BIGINT NOT NULL,
  removed_at BIGINT
);

-- Verifications

-- Stored responses by Idempotency-Key (`name` is its keyed hash), the paid calls of the key and the code of its last failure. There is
-- no index on the person, which would write a random page for almost every response: an erasure, which is rare, reads the index on
-- the expiry. PostgreSQL finds a response by the hash first, which needs fewer comparisons.
CREATE TABLE idempotency (
  key_id TEXT NOT NULL,
  operation TEXT NOT NULL,
  name BYTEA NOT NULL,
  fingerprint BYTEA NOT NULL,
  owner TEXT NOT NULL,
  lease_until BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  sealed BYTEA,
  paid_calls BIGINT NOT NULL DEFAULT 0,
  last_failure TEXT,
  subject BYTEA,
  PRIMARY KEY (key_id, operation, name)
);
CREATE INDEX idempotency_expires ON idempotency (expires_at, subject);

-- Verifications that are answered later. The question and the answer are sealed; the question is erased when it is answered.
-- `due_at` is null once a verification has ended. While a process works on one, it has a lease, and `due_at` is the end of the
-- lease: after it, any process may work on it. `expires_at` is the end of waiting, and afterwards the end of keeping the answer.
-- Due work is found by key (in turn, however long the queue of one is) and by time (with very many keys). The subject, by which an
-- erasure finds a row, is the last column of indexes to which rows are added at the end.
CREATE TABLE queued_verifications (
  reference TEXT PRIMARY KEY,
  key_id TEXT NOT NULL,
  lineage TEXT NOT NULL,
  mode TEXT NOT NULL,
  operation TEXT NOT NULL,
  subject BYTEA NOT NULL,
  lane TEXT NOT NULL,
  batch TEXT,
  idempotency BYTEA,
  state TEXT NOT NULL,
  outcome TEXT,
  accepted_at BIGINT NOT NULL,
  due_at BIGINT,
  expires_at BIGINT NOT NULL,
  lease TEXT,
  attempts BIGINT NOT NULL DEFAULT 0,
  paid_calls BIGINT NOT NULL DEFAULT 0,
  question BYTEA,
  answer BYTEA
);
CREATE INDEX queued_verifications_pending ON queued_verifications (expires_at, subject) WHERE due_at IS NOT NULL;
CREATE INDEX queued_verifications_ended ON queued_verifications (expires_at, subject) WHERE due_at IS NULL;
CREATE INDEX queued_verifications_batch ON queued_verifications (batch) WHERE batch IS NOT NULL AND due_at IS NOT NULL;
CREATE INDEX queued_verifications_key ON queued_verifications (lane, lineage, mode, operation, due_at)
  WHERE due_at IS NOT NULL;
CREATE INDEX queued_verifications_due ON queued_verifications (lane, mode, operation, due_at)
  WHERE due_at IS NOT NULL;
CREATE INDEX queued_verifications_first ON queued_verifications (lane, lineage, mode, operation, due_at)
  WHERE attempts = 0 AND due_at IS NOT NULL;

-- How many verifications of a key wait, which bounds the queue without reading it.
CREATE TABLE queue_counts (
  lineage TEXT NOT NULL,
  lane TEXT NOT NULL,
  pending BIGINT NOT NULL,
  PRIMARY KEY (lineage, lane)
);

-- Results of sources for reuse, sealed.
CREATE TABLE reused_results (
  subject BYTEA PRIMARY KEY,
  sealed BYTEA NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX reused_results_expires ON reused_results (expires_at);

-- One row for each erasure of a person: keyed hashes of the number, as each table knows it. A restore of an older backup erases
-- these people again.
CREATE TABLE erasures (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  record BYTEA NOT NULL,
  reused BYTEA NOT NULL,
  subject BYTEA NOT NULL,
  erased_at BIGINT NOT NULL
);
CREATE INDEX erasures_subject ON erasures (subject, erased_at);
CREATE INDEX erasures_time ON erasures (erased_at, id);

-- Batches

-- Files of verifications. While a batch is received, its rows wait in `batch_rows`; after that they are moved to the queue in the
-- order of their lines, as fast as the key may. `fed_line` is the last row that was moved. `mark_…` and `earlier_…` are how many
-- rows had ended at two moments about a minute apart: the estimated end follows the rate since then.
CREATE TABLE batches (
  id TEXT PRIMARY KEY,
  key_id TEXT NOT NULL,
  lineage TEXT NOT NULL,
  mode TEXT NOT NULL,
  state TEXT NOT NULL,
  owner TEXT NOT NULL,
  idempotency BYTEA,
  fingerprint BYTEA,
  created_at BIGINT NOT NULL,
  touched_at BIGINT NOT NULL,
  accepted_at BIGINT,
  ended_at BIGINT,
  total BIGINT NOT NULL DEFAULT 0,
  refused BIGINT NOT NULL DEFAULT 0,
  fed BIGINT NOT NULL DEFAULT 0,
  fed_line BIGINT NOT NULL DEFAULT 0,
  verified BIGINT NOT NULL DEFAULT 0,
  not_verified BIGINT NOT NULL DEFAULT 0,
  failed BIGINT NOT NULL DEFAULT 0,
  expired BIGINT NOT NULL DEFAULT 0,
  cancelled BIGINT NOT NULL DEFAULT 0,
  mark_at BIGINT,
  mark_ended BIGINT,
  earlier_at BIGINT,
  earlier_ended BIGINT
);
CREATE UNIQUE INDEX batches_idempotency ON batches (idempotency, lineage) WHERE idempotency IS NOT NULL;
CREATE INDEX batches_open ON batches (lineage, accepted_at) WHERE ended_at IS NULL;
CREATE INDEX batches_ended ON batches (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX batches_created ON batches (created_at);

-- The rows of a batch. `question` and `label` (the word of the caller for the row) are sealed. A row without a reference was
-- refused. The subject, by which an erasure finds rows, follows the batch in its index: rows of one batch stay together.
CREATE TABLE batch_rows (
  batch TEXT NOT NULL,
  line BIGINT NOT NULL,
  reference TEXT,
  operation TEXT,
  subject BYTEA,
  question BYTEA,
  label BYTEA,
  refusals TEXT,
  PRIMARY KEY (batch, line)
);
CREATE INDEX batch_rows_subject ON batch_rows (batch, subject) WHERE subject IS NOT NULL;

-- Until when the rows of a key are planned.
CREATE TABLE batch_paces (
  lineage TEXT PRIMARY KEY,
  paced_until BIGINT NOT NULL
);

-- Sources

-- Sources that an operator has disabled.
CREATE TABLE source_switches (
  name TEXT PRIMARY KEY,
  disabled_at BIGINT NOT NULL
);

-- The order in which sources are called, when it was changed while servers run. Without a row, the setting counts.
CREATE TABLE source_orders (
  kind TEXT PRIMARY KEY,
  names TEXT NOT NULL,
  changed_at BIGINT NOT NULL
);

-- What operators have proved of vendor files with an account of the vendor: the rules that decided and the fields that were read, as JSON
-- lists, the SHA-256 of the content of the file, and the host that answered. Nothing of the person whose number was used. See
-- docs/vendors.md.
CREATE TABLE vendor_proofs (
  vendor TEXT NOT NULL,
  operation TEXT NOT NULL,
  file_hash TEXT NOT NULL,
  rules TEXT NOT NULL,
  fields TEXT NOT NULL,
  host TEXT NOT NULL,
  version TEXT NOT NULL,
  proved_by TEXT NOT NULL,
  proved_at BIGINT NOT NULL,
  PRIMARY KEY (vendor, operation, proved_at)
);

-- Calls to a source on a day and their price, for the spend cap.
CREATE TABLE source_spend (
  name TEXT NOT NULL,
  day BIGINT NOT NULL,
  calls BIGINT NOT NULL,
  kobo BIGINT NOT NULL,
  PRIMARY KEY (name, day)
);

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

-- Ids of recorded refunds: a refund that is sent again after a lost confirmation changes nothing.
CREATE TABLE source_refunds (
  id TEXT PRIMARY KEY,
  day BIGINT NOT NULL
);
CREATE INDEX source_refunds_day ON source_refunds (day);

-- What each node sees of each source.
CREATE TABLE source_states (
  node TEXT NOT NULL,
  name TEXT NOT NULL,
  operation TEXT NOT NULL,
  state TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (node, name, operation)
);

-- Calls to vendors for each minute, hour and day, by result and class of duration, and what they cost. Rows are separate for each
-- node, so that no node waits for another.
CREATE TABLE source_calls (
  span TEXT NOT NULL,
  at TEXT NOT NULL,
  node TEXT NOT NULL,
  source TEXT NOT NULL,
  operation TEXT NOT NULL,
  result TEXT NOT NULL,
  class BIGINT NOT NULL,
  count BIGINT NOT NULL,
  kobo BIGINT NOT NULL,
  PRIMARY KEY (span, at, node, source, operation, result, class)
);

-- Catalogue

-- The lists of the catalogue after each change; the newest version is served.
CREATE TABLE catalogue_versions (
  id BIGINT PRIMARY KEY,
  at BIGINT NOT NULL,
  origin TEXT NOT NULL,
  author TEXT NOT NULL,
  content TEXT NOT NULL,
  digest TEXT NOT NULL
);

-- When each vendor was last asked, so that only one of several nodes runs a sync.
CREATE TABLE catalogue_syncs (
  source TEXT PRIMARY KEY,
  started_at BIGINT NOT NULL,
  outcome TEXT
);

-- Lists of a vendor that wait for a review. At most one of a vendor is `pending`. A decision clears `content`; the fingerprint
-- stays, so that rejected lists are not proposed again.
CREATE TABLE catalogue_reviews (
  id BIGINT PRIMARY KEY,
  source TEXT NOT NULL,
  at BIGINT NOT NULL,
  fingerprint TEXT NOT NULL,
  doubts TEXT NOT NULL,
  content TEXT NOT NULL,
  state TEXT NOT NULL,
  decided_at BIGINT,
  decided_by TEXT
);
CREATE INDEX catalogue_reviews_source ON catalogue_reviews (source, state);

-- Statistics and the request log

-- Verifications by outcome for each minute, hour and day: written in the commit of the audit rows, so that the two cannot differ.
-- Rows are separate for each chain, so that no node waits for another.
CREATE TABLE statistics (
  span TEXT NOT NULL,
  at TEXT NOT NULL,
  chain TEXT NOT NULL,
  operation TEXT NOT NULL,
  mode TEXT NOT NULL,
  outcome TEXT NOT NULL,
  key_id TEXT NOT NULL,
  source TEXT NOT NULL,
  count BIGINT NOT NULL,
  last_at TEXT NOT NULL,
  last_reference TEXT NOT NULL,
  PRIMARY KEY (span, at, chain, operation, mode, outcome, key_id, source)
);

-- Histograms of response times.
CREATE TABLE latencies (
  span TEXT NOT NULL,
  at TEXT NOT NULL,
  node TEXT NOT NULL,
  mode TEXT NOT NULL,
  class BIGINT NOT NULL,
  count BIGINT NOT NULL,
  PRIMARY KEY (span, at, node, mode, class)
);

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
);

-- The request log, in compressed blocks of many lines: a row for each request would cost too much. Each process writes its own
-- blocks, in the order of time. `counts` has the requests by key, operation and status, so that a search passes over blocks that
-- cannot match; `filter` has ids and references, and a block without one is read. A block spans one hour at most.
CREATE TABLE request_blocks (
  owner TEXT NOT NULL,
  first BIGINT NOT NULL,
  from_at BIGINT NOT NULL,
  to_at BIGINT NOT NULL,
  requests BIGINT NOT NULL,
  counts TEXT NOT NULL,
  lines BLOB NOT NULL,
  filter BLOB,
  PRIMARY KEY (owner, first)
);
CREATE INDEX request_blocks_time ON request_blocks (to_at, requests);

-- Webhooks

-- Where events are sent. Secrets are sealed.
CREATE TABLE webhook_endpoints (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  url TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  secret BYTEA NOT NULL,
  previous_secret BYTEA,
  previous_until BIGINT,
  disabled_at BIGINT,
  disabled_reason TEXT,
  failing_since BIGINT,
  paused_until BIGINT NOT NULL,
  failed_at BIGINT
);

-- The events of an endpoint, for the lineage of each of its keys, or '' for all.
CREATE TABLE webhook_subscriptions (
  endpoint_id TEXT NOT NULL,
  event TEXT NOT NULL,
  lineage TEXT NOT NULL,
  PRIMARY KEY (endpoint_id, event, lineage)
);
CREATE INDEX webhook_subscriptions_event ON webhook_subscriptions (event, lineage);

-- One event for one endpoint. While it is `pending`, `due_at` is when it may be claimed: the next attempt, or the end of the lease
-- of a claim. `position` orders the deliveries of a reference; a new one is greater than all others. `tries` counts the failed
-- attempts since the event was sent or resent, `attempts` all claims.
CREATE TABLE webhook_deliveries (
  endpoint_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  type TEXT NOT NULL,
  reference TEXT NOT NULL,
  position BIGINT NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  tries BIGINT NOT NULL,
  attempts BIGINT NOT NULL,
  finished_at BIGINT,
  PRIMARY KEY (endpoint_id, event_id)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_reference ON webhook_deliveries (endpoint_id, reference, position)
  WHERE state = 'pending';
CREATE INDEX webhook_deliveries_position ON webhook_deliveries (position);
CREATE INDEX webhook_deliveries_finished ON webhook_deliveries (finished_at) WHERE finished_at IS NOT NULL;

-- The attempts of a delivery.
CREATE TABLE webhook_attempts (
  endpoint_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  attempt BIGINT NOT NULL,
  at BIGINT NOT NULL,
  status BIGINT,
  duration_ms BIGINT NOT NULL,
  problem TEXT,
  PRIMARY KEY (endpoint_id, event_id, attempt)
);
CREATE INDEX webhook_attempts_at ON webhook_attempts (at);

-- What was last told about a source, a spend cap or the catalogue, so that of several nodes one tells a change.
CREATE TABLE event_states (
  name TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  at BIGINT NOT NULL
);

-- Events that a server is to write to its log: the transactions that cause them run in a command or in a thread.
CREATE TABLE unlogged_events (
  id TEXT PRIMARY KEY,
  type TEXT NOT NULL,
  data TEXT NOT NULL
);

-- Accounts of the console

-- Accounts. A password is stored as a hash with its parameters; an account of single sign-on has an empty one, which no password
-- matches.
CREATE TABLE accounts (
  name TEXT PRIMARY KEY,
  role TEXT NOT NULL,
  password TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  last_seen_at BIGINT
);
-- What belongs to an account goes with it.
CREATE TRIGGER accounts_delete AFTER DELETE ON accounts BEGIN
  DELETE FROM totp_secrets WHERE account = OLD.name;
  DELETE FROM recovery_codes WHERE account = OLD.name;
  DELETE FROM passkeys WHERE account = OLD.name;
  DELETE FROM account_identities WHERE account = OLD.name;
  END;

-- Sessions, under the keyed hash of a random token. `confirmed_at` is when the account last entered its password again. Keyed hashes
-- bind account, method and that time: who can only write here cannot change them.
CREATE TABLE sessions (
  id BYTEA PRIMARY KEY,
  account TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  method TEXT,
  address TEXT,
  browser TEXT,
  confirmed_at BIGINT,
  mac BYTEA,
  confirmed_mac BYTEA
);
CREATE INDEX sessions_account ON sessions (account);

-- Invitations, under the keyed hash of a random token. `mac` is a keyed hash of the other columns.
CREATE TABLE invitations (
  id BYTEA PRIMARY KEY,
  role TEXT NOT NULL,
  account TEXT,
  made_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  mac BYTEA
);

-- Secrets of authenticator apps, sealed. A code of `last_step` or earlier is not accepted again.
CREATE TABLE totp_secrets (
  account TEXT PRIMARY KEY,
  sealed BYTEA NOT NULL,
  last_step BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);

-- Hashes of recovery codes.
CREATE TABLE recovery_codes (
  account TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (account, hash)
);

-- Passkeys. `id` is the credential id of the authenticator, `host` the name for which it was made.
CREATE TABLE passkeys (
  id TEXT PRIMARY KEY,
  account TEXT NOT NULL,
  name TEXT NOT NULL,
  host TEXT NOT NULL,
  public_key BYTEA NOT NULL,
  counter BIGINT NOT NULL,
  transports TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT
);
CREATE INDEX passkeys_account ON passkeys (account);

-- Challenges that were answered, until they expire: a recorded answer cannot be sent again.
CREATE TABLE used_challenges (
  id TEXT PRIMARY KEY,
  expires_at BIGINT NOT NULL
);

-- Accounts of single sign-on. `id` is the keyed hash of the issuer and of its identifier of the person, which may be an e-mail
-- address.
CREATE TABLE account_identities (
  id TEXT PRIMARY KEY,
  account TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  mac BYTEA
);

-- Counts of wrong passwords and codes, which survive a restart and which all nodes share. `id` and `account` are keyed hashes: the
-- table holds no account names and no addresses.
CREATE TABLE sign_in_failures (
  id TEXT PRIMARY KEY,
  account TEXT,
  failures BIGINT NOT NULL,
  wait_until BIGINT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX sign_in_failures_account ON sign_in_failures (account);
CREATE INDEX sign_in_failures_at ON sign_in_failures (at);

-- Tokens of the admin API. `hash` is keyed with a pepper that is not in the database.
CREATE TABLE admin_tokens (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  hash BYTEA NOT NULL,
  role TEXT NOT NULL,
  allowed_ips TEXT,
  made_by TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT,
  last_used_at BIGINT
);

-- Accounts and webhook endpoints that were removed: after a restore of an older backup they are removed again. `created_at` tells
-- an account from a later one of the same name.
CREATE TABLE removed_access (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  removed_at BIGINT NOT NULL,
  PRIMARY KEY (kind, id, created_at)
);

-- What the health checks of each node find now, if it is not fine. `name` is the check and, after a colon, what it is about. `scope` is the
-- node, or empty if the finding is about all nodes. The text is that of the first time at this level. See docs/notices.md.
CREATE TABLE node_findings (
  node TEXT NOT NULL,
  name TEXT NOT NULL,
  check_name TEXT NOT NULL,
  scope TEXT NOT NULL,
  level TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (node, name)
);

-- Findings that began, last and end. `told` is the level that people were told; null: the finding has not lasted long enough yet.
CREATE TABLE incidents (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  scope TEXT NOT NULL,
  level TEXT NOT NULL,
  text TEXT NOT NULL,
  began_at BIGINT NOT NULL,
  critical_at BIGINT,
  cleared_at BIGINT,
  told TEXT,
  ended_at BIGINT,
  repeats BIGINT NOT NULL
);
CREATE UNIQUE INDEX incidents_open ON incidents (name, scope) WHERE ended_at IS NULL;
CREATE INDEX incidents_ended ON incidents (ended_at) WHERE ended_at IS NOT NULL;

-- What people are told of an incident: one row for each channel and kind.
CREATE TABLE notices (
  incident_id TEXT NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL,
  level TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  state TEXT NOT NULL,
  finished_at BIGINT,
  PRIMARY KEY (incident_id, channel, kind)
);
CREATE INDEX notices_waiting ON notices (channel, due_at) WHERE state = 'waiting';

-- One process sends to a channel at a time, until `claimed_until`. After a failure nothing is sent before `retry_at`.
CREATE TABLE notice_channels (
  channel TEXT PRIMARY KEY,
  claimed_until BIGINT NOT NULL,
  retry_at BIGINT NOT NULL,
  tries BIGINT NOT NULL,
  failing_since BIGINT,
  problem TEXT,
  sent_at BIGINT
);
