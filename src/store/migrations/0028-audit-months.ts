/**
 * In PostgreSQL the audit log is partitioned by month, so that removing an old month is a DROP. The partition column is the
 * chain: it is a part of the primary key, which therefore still prevents that two processes extend a chain at one place. From
 * now on a chain belongs to one month and its name says which: `y2026m11-…`; see audit-months.ts.
 *
 * The present table becomes the partition of all chains from before, with its indexes and without being rewritten. Servers of
 * earlier versions go on writing to it. PostgreSQL reads the whole table once to be sure that no chain begins with a `y`, unless
 * the constraint was added beforehand, without blocking anything: see docs/upgrading.md.
 *
 * A trigger for statements, which also refuses TRUNCATE, exists for each partition: PostgreSQL does not copy it to them.
 */
const REFUSE_CHANGE = 'BEFORE UPDATE OR DELETE OR TRUNCATE'

export const auditMonths = {
  id: 28,
  sql: [],
  postgres: [
    `DO $$ BEGIN
       IF NOT EXISTS (SELECT 1 FROM pg_constraint
           WHERE conrelid = 'audit'::regclass AND conname = 'audit_first_chains') THEN
         ALTER TABLE audit ADD CONSTRAINT audit_first_chains CHECK (chain < 'y') NOT VALID;
       END IF;
     END $$`,
    'ALTER TABLE audit VALIDATE CONSTRAINT audit_first_chains',
    'ALTER TABLE audit RENAME TO audit_first',
    'ALTER INDEX audit_pkey RENAME TO audit_first_pkey',
    'ALTER INDEX audit_reference RENAME TO audit_first_reference',
    'CREATE TABLE audit (LIKE audit_first INCLUDING DEFAULTS) PARTITION BY RANGE (chain)',
    'ALTER TABLE audit ADD PRIMARY KEY (chain, sequence)',
    'CREATE INDEX audit_reference ON audit (request_reference)',
    "ALTER TABLE audit ATTACH PARTITION audit_first FOR VALUES FROM (MINVALUE) TO ('y')",
    `CREATE TRIGGER audit_no_change ${REFUSE_CHANGE} ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
    'REVOKE UPDATE, DELETE, TRUNCATE ON audit FROM PUBLIC',
    // An attached table blocks neither reads nor writes of the others; a table that is created as a partition does.
    `CREATE FUNCTION create_audit_month(the_month TEXT, next_month TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
     DECLARE
       name TEXT := 'audit_' || the_month;
     BEGIN
       IF to_regclass(name) IS NOT NULL THEN RETURN; END IF;
       EXECUTE format('CREATE TABLE %I (LIKE audit INCLUDING DEFAULTS INCLUDING INDEXES)', name);
       EXECUTE format('CREATE TRIGGER audit_no_change ${REFUSE_CHANGE} ON %I
         FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', name);
       EXECUTE format('REVOKE UPDATE, DELETE, TRUNCATE ON %I FROM PUBLIC', name);
       EXECUTE format('ALTER TABLE audit ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, the_month, next_month);
     END $$`,
  ],
} as const
