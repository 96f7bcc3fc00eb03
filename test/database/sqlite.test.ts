import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
