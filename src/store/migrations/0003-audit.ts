/**
 * The audit log is append-only: triggers refuse an update or a delete from any client. PostgreSQL needs a function for that, so
 * the two dialects differ.
 */
export const audit = {
  id: 3,
  sql: [
    `CREATE TABLE audit (
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
      PRIMARY KEY (chain, sequence)
    )`,
    'CREATE INDEX audit_reference ON audit (request_reference)',
    'CREATE INDEX audit_subject ON audit (subject)',
    `CREATE TABLE audit_chains (
      chain TEXT PRIMARY KEY,
      owner TEXT,
      beat_at BIGINT NOT NULL
    )`,
    `CREATE TABLE checkpoints (
      time TEXT NOT NULL,
      body TEXT NOT NULL,
      signature TEXT NOT NULL
    )`,
    'CREATE INDEX checkpoints_time ON checkpoints (time)',
    `CREATE TABLE idempotency (
      key_id TEXT NOT NULL,
      operation TEXT NOT NULL,
      name BYTEA NOT NULL,
      fingerprint BYTEA NOT NULL,
      owner TEXT NOT NULL,
      lease_until BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      sealed BYTEA,
      PRIMARY KEY (key_id, operation, name)
    )`,
    'CREATE INDEX idempotency_expires ON idempotency (expires_at)',
    'ALTER TABLE api_keys ADD COLUMN requires_consent BIGINT',
  ],
  sqlite: ['UPDATE', 'DELETE'].flatMap((change) =>
    ['audit', 'checkpoints'].map(
      (table) =>
        `CREATE TRIGGER ${table}_no_${change.toLowerCase()} BEFORE ${change} ON ${table}
         BEGIN SELECT RAISE(ABORT, 'the audit log cannot be changed'); END`,
    ),
  ),
  postgres: [
    `CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN RAISE EXCEPTION 'the audit log cannot be changed'; END $$`,
    ...['audit', 'checkpoints'].map(
      (table) =>
        `CREATE TRIGGER ${table}_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON ${table}
         FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
    ),
    ...['audit', 'checkpoints'].map((table) => `REVOKE UPDATE, DELETE, TRUNCATE ON ${table} FROM PUBLIC`),
  ],
} as const
