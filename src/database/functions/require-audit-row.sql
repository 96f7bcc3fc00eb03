-- Finds in the statement that appends audit rows whether a failover lost the row before.
CREATE OR REPLACE FUNCTION require_audit_row(the_chain TEXT, the_sequence BIGINT, the_hash BYTEA)
    RETURNS BOOLEAN LANGUAGE plpgsql STABLE AS $$
  BEGIN
    IF the_sequence > 0 AND NOT EXISTS (
      SELECT 1 FROM audit WHERE chain = the_chain AND sequence = the_sequence AND hash = the_hash
    ) THEN
      RAISE EXCEPTION 'the row before is not in the audit log' USING ERRCODE = 'TB001';
    END IF;
    RETURN TRUE;
  END $$;
