-- The audit log cannot be changed. A trigger for statements, which also refuses TRUNCATE, exists for each partition: PostgreSQL does
-- not copy it to them. The months of the log are dropped with their partition; archived rows are deleted only from the partition of
-- the chains that have no month.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'the audit log cannot be changed';
  END $$;
CREATE OR REPLACE FUNCTION refuse_delete_of_audit() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF COALESCE((SELECT archived_rows FROM audit_chains WHERE chain = OLD.chain), 0) < OLD.sequence THEN
      RAISE EXCEPTION 'the audit log cannot be changed';
    END IF;
    RETURN OLD;
  END $$;
CREATE OR REPLACE FUNCTION refuse_delete_of_checkpoints() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NOT EXISTS (SELECT 1 FROM audit_archives WHERE checkpoints_until >= OLD.time) THEN
      RAISE EXCEPTION 'the audit log cannot be changed';
    END IF;
    RETURN OLD;
  END $$;

CREATE OR REPLACE TRIGGER audit_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE OR REPLACE TRIGGER audit_no_change BEFORE UPDATE OR TRUNCATE ON audit_undated
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE OR REPLACE TRIGGER audit_no_delete BEFORE DELETE ON audit_undated
  FOR EACH ROW EXECUTE FUNCTION refuse_delete_of_audit();
CREATE OR REPLACE TRIGGER checkpoints_no_change BEFORE UPDATE OR TRUNCATE ON checkpoints
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE OR REPLACE TRIGGER checkpoints_no_delete BEFORE DELETE ON checkpoints
  FOR EACH ROW EXECUTE FUNCTION refuse_delete_of_checkpoints();
CREATE OR REPLACE TRIGGER field_policies_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON field_policies
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
