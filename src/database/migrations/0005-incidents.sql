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
