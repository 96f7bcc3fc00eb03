/**
 * The second factors of console accounts: the secret of an authenticator app, sealed, with the last time step that was used;
 * and keyed hashes of recovery codes. They are deleted with their account, also by a node that does not know them yet:
 * otherwise they would hold for a later account with the same name.
 */
export const secondFactors = {
  id: 44,
  sql: [
    `CREATE TABLE totp_secrets (
      account TEXT PRIMARY KEY,
      sealed BYTEA NOT NULL,
      last_step BIGINT NOT NULL,
      created_at BIGINT NOT NULL
    )`,
    `CREATE TABLE recovery_codes (
      account TEXT NOT NULL,
      hash TEXT NOT NULL,
      PRIMARY KEY (account, hash)
    )`,
  ],
  sqlite: [
    `CREATE TRIGGER accounts_second_factors AFTER DELETE ON accounts BEGIN
      DELETE FROM totp_secrets WHERE account = OLD.name;
      DELETE FROM recovery_codes WHERE account = OLD.name;
    END`,
  ],
  postgres: [
    `CREATE FUNCTION delete_second_factors() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      DELETE FROM totp_secrets WHERE account = OLD.name;
      DELETE FROM recovery_codes WHERE account = OLD.name;
      RETURN NULL;
    END $$`,
    'CREATE TRIGGER accounts_second_factors AFTER DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION delete_second_factors()',
  ],
} as const
