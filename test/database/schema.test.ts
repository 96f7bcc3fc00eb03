import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { migrate, requireSchema } from '../../src/database/migrate.ts'
import { openPostgres } from '../../src/database/postgres.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { copyFixture, RELEASES } from '../fixtures/fixture.ts'
import { createEmptyDatabase, hasPostgres } from '../postgres.ts'
import { describeSchema } from './describe-schema.ts'

const listColumns = async (database: Database) =>
  (await describeSchema(database)).flatMap((line) => /^\w+\.\w+/.exec(line)?.[0] ?? [])

const openEmptySqlite = () => openSqlite(join(mkdtempSync(join(tmpdir(), 'schema-')), 'tabbat.db'))

/** Types that PostgreSQL receives in binary, and partitions. */
const ONLY_IN_POSTGRES = /^(commit_[a-z]+|audit_entry|checked_guess|checked_answer|audit_undated)\./

it.skipIf(!hasPostgres())('SQLite and PostgreSQL have the same tables and columns', async () => {
  const sqlite = openEmptySqlite()
  const postgres = await openPostgres(await createEmptyDatabase())
  await migrate(sqlite)
  await migrate(postgres)
  const ofPostgres = await listColumns(postgres)
  expect(ofPostgres.filter((column) => !ONLY_IN_POSTGRES.test(column))).toEqual(await listColumns(sqlite))
  await sqlite.close()
  await postgres.close()
})

/** The partitions of months are made by the server. */
const OF_A_MONTH = /audit_y\d{4}m\d\d/

const describeMigrated = async (database: Database) => {
  await migrate(database)
  const lines = await describeSchema(database)
  await database.close()
  return lines.filter((line) => !OF_A_MONTH.test(line))
}

describe.each(RELEASES)('the migrations from %s', (release) => {
  it('make the tables of schema/sqlite.sql', async () => {
    const { TABBAT_DATA_DIR = '' } = await copyFixture(release, 'sqlite')
    const migrated = await describeMigrated(openSqlite(join(TABBAT_DATA_DIR, 'tabbat.db')))
    expect(migrated).toEqual(await describeMigrated(openEmptySqlite()))
  })

  it.skipIf(!hasPostgres())('make the tables of schema/postgres.sql', async () => {
    const { TABBAT_DATABASE_URL = '' } = await copyFixture(release, 'postgres')
    const migrated = await describeMigrated(await openPostgres(TABBAT_DATABASE_URL))
    expect(migrated).toEqual(await describeMigrated(await openPostgres(await createEmptyDatabase())))
  })
})

it.skipIf(!hasPostgres())('functions are replaced when their text has changed, and only then', async () => {
  const database = await openPostgres(await createEmptyDatabase())
  await migrate(database)
  const before = await describeSchema(database)
  const change = `CREATE OR REPLACE FUNCTION shared_clock(process_ms BIGINT) RETURNS BIGINT LANGUAGE sql STABLE AS 'SELECT 1::bigint'`
  await database.prepare(change).run()
  await migrate(database)
  expect(await describeSchema(database)).not.toEqual(before)
  await database.prepare("UPDATE schema_state SET functions = 'of an earlier version'").run()
  await migrate(database)
  expect(await describeSchema(database)).toEqual(before)
  await database.close()
})

it.skipIf(!hasPostgres())('a migration does not hold up others while a backup reads the tables', async () => {
  const { TABBAT_DATABASE_URL = '' } = await copyFixture(RELEASES[0] ?? '', 'postgres')
  const [database, other] = [await openPostgres(TABBAT_DATABASE_URL), await openPostgres(TABBAT_DATABASE_URL)]
  const read = 'SELECT COUNT(*) AS count FROM webhook_endpoints'
  const { promise: backupEnds, resolve: endBackup } = Promise.withResolvers<void>()
  const { promise: backupReads, resolve: noteRead } = Promise.withResolvers<void>()
  const backup = other.transaction(async (tx) => {
    await tx.prepare(read).get()
    noteRead()
    await backupEnds
  })
  await backupReads
  const { promise: waits, resolve: noteWait } = Promise.withResolvers<void>()
  const migration = migrate(database, noteWait, 100)
  await waits
  // The old version goes on between the attempts.
  expect(await other.prepare(read).get()).toBeDefined()
  endBackup()
  await backup
  await migration
  await requireSchema(database)
  await database.close()
  await other.close()
})
