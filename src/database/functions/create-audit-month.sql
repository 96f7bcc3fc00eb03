-- Creates the partition of a month. A table that is attached blocks neither reads nor writes of the others; one that is created as a
-- partition does.
CREATE OR REPLACE FUNCTION create_audit_month(the_month TEXT, next_month TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
  DECLARE
    name TEXT := 'audit_' || the_month;
  BEGIN
    IF to_regclass(name) IS NOT NULL THEN RETURN; END IF;
    EXECUTE format('CREATE TABLE %I (LIKE audit INCLUDING DEFAULTS INCLUDING INDEXES)', name);
    EXECUTE format('CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON %I
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', name);
    EXECUTE format('REVOKE UPDATE, DELETE, TRUNCATE ON %I FROM PUBLIC', name);
    EXECUTE format('ALTER TABLE audit ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, the_month, next_month);
  END $$;
