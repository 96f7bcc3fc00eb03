-- Keyed hashes: who can only write to the database cannot give a session, a one-time link or an identity to another account.
ALTER TABLE sessions ADD COLUMN mac BYTEA;
ALTER TABLE sessions ADD COLUMN confirmed_mac BYTEA;
ALTER TABLE invitations ADD COLUMN mac BYTEA;
ALTER TABLE account_identities ADD COLUMN mac BYTEA;
