import { existsSync, mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { openSqlite, refuseOldSqlite } from '../../src/database/sqlite.ts'

const folder = () => mkdtempSync(join(tmpdir(), 'tabbat-sqlite-'))

describe('a transaction', () => {
  it('keeps all of its work or nothing', async () => {
    const database = openSqlite(join(folder(), 'a.db'))
    await database.prepare('CREATE TABLE t (x BIGINT)').run()
    const count = database.prepare('SELECT COUNT(*) AS n FROM t')
    const failing = database.transaction(async (tx) => {
      await tx.prepare('INSERT INTO t VALUES ($1)').run(1)
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await count.get()).toEqual({ n: 0 })
    await database.close()
  })

  it('is not joined by what happens beside it', async () => {
    const database = openSqlite(join(folder(), 'a.db'))
    await database.prepare('CREATE TABLE t (x BIGINT)').run()
    const insert = database.prepare('INSERT INTO t VALUES ($1)')
    const gate = Promise.withResolvers<void>()
    const failing = database.transaction(async (tx) => {
      await tx.prepare('INSERT INTO t VALUES ($1)').run(1)
      await gate.promise
      throw new Error('no')
    })
    const beside = [
      insert.run(2),
      database.transaction((tx) => tx.prepare('INSERT INTO t VALUES ($1)').run(3)),
    ]
    gate.resolve()
    await expect(failing).rejects.toThrow('no')
    await Promise.all(beside)
    expect(await database.prepare('SELECT x FROM t ORDER BY x').all()).toEqual([{ x: 2 }, { x: 3 }])
    await database.close()
  })
})

describe('SQLite', () => {
  it.each(['3.51.2', '3.50.9', '2.99.99'])('%s is refused', (version) => {
    expect(() => refuseOldSqlite(version)).toThrow(
      /^SQLite .* can corrupt databases; 3\.51\.3 is needed\. Run/,
    )
  })
  it.each(['3.51.3', '3.51.10', '3.60.0', '4.0.0'])('%s is taken', (version) => {
    expect(() => refuseOldSqlite(version)).not.toThrow()
  })
})

it('does not create a database that must exist', () => {
  const path = join(folder(), 'new', 'tabbat.db')
  expect(() => openSqlite(path, { mustExist: true })).toThrow('cannot be opened for writing')
  expect(existsSync(join(path, '..'))).toBe(false)
})

it('cuts the write-ahead log to its usual size after a long read, and goes on', async () => {
  const path = join(folder(), 'tabbat.db')
  const database = openSqlite(path)
  const logBytes = () => statSync(`${path}-wal`).size
  database.exec('CREATE TABLE pieces (content BLOB)')
  const write = async () => {
    await database.prepare('INSERT INTO pieces VALUES ($1)').run(Buffer.alloc(4_000_000))
    database.checkFiles()
  }
  // A backup reads one moment to its end: what is written meanwhile stays in the log.
  const reader = new DatabaseSync(path)
  reader.exec('BEGIN; SELECT COUNT(*) FROM pieces')
  while (logBytes() < 60_000_000) await write()
  reader.exec('COMMIT')
  reader.close()
  await write()
  await write()
  expect(logBytes()).toBeLessThan(34_000_000)
  expect(await database.prepare('SELECT COUNT(*) AS count FROM pieces').get()).toMatchObject({ count: 17 })
  await database.close()
})
