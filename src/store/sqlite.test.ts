import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSqlite } from './sqlite.ts'
import { openStore } from './store.ts'

const folder = () => mkdtempSync(join(tmpdir(), 'tabbat-sqlite-'))

describe('a transaction', () => {
  it('keeps all of its work or nothing', async () => {
    const database = openSqlite(join(folder(), 'a.db'))
    await database.prepare('CREATE TABLE t (x BIGINT)').run()
    const count = database.prepare('SELECT COUNT(*) AS n FROM t')
    const failing = database.transaction(async (inside) => {
      await inside.prepare('INSERT INTO t VALUES ($1)').run(1)
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
    const failing = database.transaction(async (inside) => {
      await inside.prepare('INSERT INTO t VALUES ($1)').run(1)
      await gate.promise
      throw new Error('no')
    })
    const beside = [
      insert.run(2),
      database.transaction((inside) => inside.prepare('INSERT INTO t VALUES ($1)').run(3)),
    ]
    gate.resolve()
    await expect(failing).rejects.toThrow('no')
    await Promise.all(beside)
    expect(await database.prepare('SELECT x FROM t ORDER BY x').all()).toEqual([{ x: 2 }, { x: 3 }])
    await database.close()
  })
})

describe('a store that cannot be used is refused with a line that says why', () => {
  it('when the file is something else', async () => {
    const dataDir = folder()
    writeFileSync(join(dataDir, 'tabbat.db'), 'x'.repeat(5000))
    await expect(openStore({ dataDir, databaseUrl: undefined })).rejects.toThrow(
      /damaged or is not a Tabbat database/,
    )
  })

  it('when it was made by a newer Tabbat', async () => {
    const dataDir = folder()
    await (await openStore({ dataDir, databaseUrl: undefined })).close()
    const database = openSqlite(join(dataDir, 'tabbat.db'))
    await database.prepare('INSERT INTO schema_version (id) VALUES (999)').run()
    await database.close()
    await expect(openStore({ dataDir, databaseUrl: undefined })).rejects.toThrow(
      /newer Tabbat.*Update Tabbat/,
    )
  })

  it.runIf(process.getuid?.() !== 0)('when the folder may not be written', async () => {
    const dataDir = folder()
    chmodSync(dataDir, 0o500)
    await expect(openStore({ dataDir, databaseUrl: undefined })).rejects.toThrow(
      /cannot be opened for writing/,
    )
  })
})
