/**
 * Archives of the audit log. `audit_archives` has the signed statement of each; `audit_chains` says which archive holds a chain, and
 * up to which row. Only such rows, and checkpoints that are in an archive, can be deleted.
 *
 * In PostgreSQL the chains of a month are dropped with their partition; rows are deleted only from the partition of the chains
 * that have no month.
 */
const MESSAGE = 'the audit log cannot be changed'
const IS_KEPT = {
  audit: 'COALESCE((SELECT archived_rows FROM audit_chains WHERE chain = OLD.chain), 0) < OLD.sequence',
  checkpoints: 'NOT EXISTS (SELECT 1 FROM audit_archives WHERE checkpoints_until >= OLD.time)',
} as const

const toRefusal = (table: keyof typeof IS_KEPT, inPostgres: string) => [
  `CREATE FUNCTION refuse_delete_of_${table}() RETURNS trigger LANGUAGE plpgsql AS
   $$ BEGIN IF ${IS_KEPT[table]} THEN RAISE EXCEPTION '${MESSAGE}'; END IF; RETURN OLD; END $$`,
  `DROP TRIGGER ${table}_no_change ON ${inPostgres}`,
  `CREATE TRIGGER ${table}_no_change BEFORE UPDATE OR TRUNCATE ON ${inPostgres}
   FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()`,
  `CREATE TRIGGER ${table}_no_delete BEFORE DELETE ON ${inPostgres}
   FOR EACH ROW EXECUTE FUNCTION refuse_delete_of_${table}()`,
]

export const auditArchives = {
  id: 39,
  sql: [
    `CREATE TABLE audit_archives (
      number BIGINT PRIMARY KEY,
      statement TEXT NOT NULL,
      signature TEXT NOT NULL,
      checkpoints_until TEXT NOT NULL,
      recorded_at BIGINT NOT NULL,
      removed_at BIGINT
    )`,
    'ALTER TABLE audit_chains ADD COLUMN archive BIGINT',
    'ALTER TABLE audit_chains ADD COLUMN archived_rows BIGINT',
  ],
  sqlite: (['audit', 'checkpoints'] as const).flatMap((table) => [
    `DROP TRIGGER ${table}_no_delete`,
    `CREATE TRIGGER ${table}_no_delete BEFORE DELETE ON ${table} WHEN ${IS_KEPT[table]}
     BEGIN SELECT RAISE(ABORT, '${MESSAGE}'); END`,
  ]),
  postgres: [...toRefusal('audit', 'audit_first'), ...toRefusal('checkpoints', 'checkpoints')],
} as const
