import type { Database } from '../../src/database/database.ts'

/** What a database consists of, whatever the order in which it came about: sorted lines. */
export async function describeSchema(database: Database): Promise<string[]> {
  const lines = (await Promise.all(QUERIES[database.dialect].map((sql) => database.prepare(sql).all())))
    .flat()
    .map(({ line }) => String(line).replaceAll(/\s+/g, ' '))
  return lines.toSorted()
}

const QUERIES = {
  sqlite: [
    `SELECT t.name || '.' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || COALESCE(c.dflt_value, '-') || ' ' || c.pk AS line
     FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
    `SELECT type || ' ' || name || ' ' || sql AS line FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL`,
  ],
  postgres: [
    `SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' ' || a.attstorage::text
       || ' ' || COALESCE(pg_get_expr(d.adbin, d.adrelid), '-') AS line
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'c')`,
    `SELECT relname || ' ' || relkind::text || relpersistence::text || ' ' || COALESCE((SELECT string_agg(o, ',' ORDER BY o) FROM unnest(reloptions) o), '')
       || ' ' || COALESCE(pg_get_expr(relpartbound, oid), '') || ' ' || COALESCE(relacl::text, '') AS line
     FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')`,
    `SELECT pg_get_indexdef(i.indexrelid) AS line FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
     WHERE c.relnamespace = current_schema()::regnamespace`,
    `SELECT c.relname || ' ' || k.conname || ' ' || pg_get_constraintdef(k.oid) AS line FROM pg_constraint k
     JOIN pg_class c ON c.oid = k.conrelid WHERE k.connamespace = current_schema()::regnamespace AND k.contype <> 'n'`,
    `SELECT pg_get_triggerdef(t.oid) AS line FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal`,
    `SELECT pg_get_functiondef(p.oid) AS line FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace`,
  ],
} as const
