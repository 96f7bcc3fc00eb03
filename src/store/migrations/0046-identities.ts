/**
 * Accounts of single sign-on. `id` is the keyed hash of the issuer and of its identifier of the person, which may be an e-mail
 * address. Such an account has an empty password, which no password matches.
 */
export const identities = {
  id: 46,
  sql: [
    `CREATE TABLE account_identities (
      id TEXT PRIMARY KEY,
      account TEXT NOT NULL UNIQUE,
      created_at BIGINT NOT NULL
    )`,
  ],
  sqlite: [
    `CREATE TRIGGER accounts_identities AFTER DELETE ON accounts BEGIN
      DELETE FROM account_identities WHERE account = OLD.name;
    END`,
  ],
  postgres: [
    `CREATE FUNCTION delete_identities() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      DELETE FROM account_identities WHERE account = OLD.name;
      RETURN NULL;
    END $$`,
    'CREATE TRIGGER accounts_identities AFTER DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION delete_identities()',
  ],
} as const
