/**
 * Format 2 of an audit row: the time at which a verification began, and a reference to the released fields, whose names are
 * stored once. Existing rows are of format 1 and are not rewritten. The id of a policy is a hash of its text, and triggers
 * refuse changes, as in the audit table.
 */
export const auditFormat2 = {
  id: 13,
  sql: [
    'ALTER TABLE audit ADD COLUMN started_at TEXT',
    'ALTER TABLE audit ADD COLUMN format BIGINT NOT NULL DEFAULT 1',
    'CREATE TABLE field_policies (id TEXT PRIMARY KEY, fields TEXT NOT NULL)',
  ],
  sqlite: ['UPDATE', 'DELETE'].map(
    (change) =>
      `CREATE TRIGGER field_policies_no_${change.toLowerCase()} BEFORE ${change} ON field_policies
       BEGIN SELECT RAISE(ABORT, 'the audit log cannot be changed'); END`,
  ),
  postgres: [
    `CREATE TRIGGER field_policies_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON field_policies
     FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
    'REVOKE UPDATE, DELETE, TRUNCATE ON field_policies FROM PUBLIC',
  ],
} as const
