import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { defineAuditTable } from '../../src/audit/audit-table.ts'
import type { Database } from '../../src/database/database.ts'
import { SQLITE } from '../engines.ts'

/** The statements of a search of verifications and of its export. Those of PostgreSQL are in partition-plans.test.ts. */
it('a search in SQLite reads rows by an index only', async () => {
  const store = await (await SQLITE.createPlace()).open()
  onTestFinished(() => store.close())
  const statements: string[] = []
  const database: Database = {
    ...store.database,
    prepare: (sql) => {
      const statement = store.database.prepare(sql)
      const note = <T>(value: T) => {
        statements.push(sql)
        return value
      }
      return {
        ...statement,
        all: (...values) => note(statement.all(...values)),
        get: (...values) => note(statement.get(...values)),
      }
    },
  }
  const audit = defineAuditTable().create(database)
  await audit.pageBack('chain', 10, 100)
  await audit.byReference('ver_1')
  await audit.periodOf('ver_1')
  await audit.subjectOf('ver_1')
  await audit.byReferences(['ver_1', 'ver_2'], 1000)
  await audit.pageOfReference('ver_1', { chain: 'chain', sequence: 3 }, 1000)
  await audit.checkpointsFrom('2026', 4)
  await audit.hashes('chain', 0, 10)
  expect(statements).toHaveLength(8)
  const connection = new DatabaseSync(store.file, { readOnly: true })
  onTestFinished(() => connection.close())
  for (const sql of statements) {
    const plan = connection
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail))
    const scans = plan.filter((line) => /\b(audit|checkpoints)\b/.test(line))
    expect([sql, scans.length]).toEqual([sql, 1])
    expect([sql, scans[0]]).toEqual([sql, expect.stringMatching(/^SEARCH \w+ USING (COVERING )?INDEX/)])
  }
})
