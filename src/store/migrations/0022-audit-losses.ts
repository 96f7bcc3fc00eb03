/**
 * Acknowledged audit rows that a failover lost, as a node found them. No row is added to such a chain again. Verifications are
 * refused until an operator accepts the loss. The function finds them in the statement that appends the next rows.
 */
export const auditLosses = {
  id: 22,
  sql: [
    `CREATE TABLE audit_losses (
      chain TEXT NOT NULL,
      kept BIGINT NOT NULL,
      acknowledged BIGINT NOT NULL,
      lost_references TEXT NOT NULL,
      found_at BIGINT NOT NULL,
      accepted_at BIGINT,
      PRIMARY KEY (chain, kept)
    )`,
  ],
  postgres: [
    `CREATE FUNCTION require_audit_row(the_chain TEXT, the_sequence BIGINT, the_hash BYTEA)
      RETURNS BOOLEAN LANGUAGE plpgsql STABLE AS $$
    BEGIN
      IF the_sequence > 0 AND NOT EXISTS (
        SELECT 1 FROM audit WHERE chain = the_chain AND sequence = the_sequence AND hash = the_hash
      ) THEN
        RAISE EXCEPTION 'the row before is not in the audit log' USING ERRCODE = 'TB001';
      END IF;
      RETURN TRUE;
    END $$`,
  ],
} as const
