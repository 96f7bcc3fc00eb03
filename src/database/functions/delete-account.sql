-- What belongs to an account goes with it.
CREATE OR REPLACE FUNCTION delete_of_account() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM totp_secrets WHERE account = OLD.name;
    DELETE FROM recovery_codes WHERE account = OLD.name;
    DELETE FROM passkeys WHERE account = OLD.name;
    DELETE FROM account_identities WHERE account = OLD.name;
    RETURN NULL;
  END $$;
CREATE OR REPLACE TRIGGER accounts_delete AFTER DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION delete_of_account();
