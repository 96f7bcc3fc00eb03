/**
 * Passkeys of console accounts. `id` is the credential id of the authenticator, `host` the name for which it was made.
 * `used_challenges` holds the challenges that were answered, until they expire: a recorded answer cannot be sent again.
 */
export const passkeys = {
  id: 45,
  sql: [
    `CREATE TABLE passkeys (
      id TEXT PRIMARY KEY,
      account TEXT NOT NULL,
      name TEXT NOT NULL,
      host TEXT NOT NULL,
      public_key BYTEA NOT NULL,
      counter BIGINT NOT NULL,
      transports TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      last_used_at BIGINT
    )`,
    'CREATE INDEX passkeys_account ON passkeys (account)',
    'CREATE TABLE used_challenges (id TEXT PRIMARY KEY, expires_at BIGINT NOT NULL)',
  ],
  sqlite: [
    `CREATE TRIGGER accounts_passkeys AFTER DELETE ON accounts BEGIN
      DELETE FROM passkeys WHERE account = OLD.name;
    END`,
  ],
  postgres: [
    `CREATE FUNCTION delete_passkeys() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      DELETE FROM passkeys WHERE account = OLD.name;
      RETURN NULL;
    END $$`,
    'CREATE TRIGGER accounts_passkeys AFTER DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION delete_passkeys()',
  ],
} as const
