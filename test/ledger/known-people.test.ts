import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Database, SyncDatabase } from '../../src/database/database.ts'
import { migrate } from '../../src/database/migrate.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { guessTable } from '../../src/ledger/guess-table.ts'
import { createKnownPeople, type KnownPeople } from '../../src/ledger/known-people.ts'

const KEY = 'key'
const toSubject = (index: number) => index.toString(16).padStart(4, '0').repeat(16)

describe('createKnownPeople', () => {
  let folder = ''
  const opened: Database[] = []
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tabbat-people-'))
  })
  afterEach(async () => {
    for (const database of opened.splice(0)) await database.close()
    rmSync(folder, { recursive: true })
  })

  const open = async () => {
    const database = openSqlite(join(folder, 'tabbat.db'))
    opened.push(database)
    await migrate(database)
    const people = createKnownPeople(database.sync as SyncDatabase)
    /** Adds those that are not known, on this day, and returns them. */
    const admit = (indexes: readonly number[], day = 1, fails = false) =>
      database.transaction(async () => {
        people.refresh(day)
        const unknown = indexes.filter((index) => !people.has(KEY, toSubject(index)))
        if (unknown.length > 0) people.add(KEY, new Set(unknown.map(toSubject)))
        people.refresh(day)
        if (fails) throw new Error('rolled back')
        return unknown
      })
    const count = async (day = 1) =>
      Number((await database.prepare('SELECT subjects FROM key_days WHERE day = $1').get(day))?.subjects)
    return { admit, count }
  }

  it('knows people that this connection, another one or an earlier process added', async () => {
    const [first, second] = [await open(), await open()]
    expect(await first.admit([1, 2])).toEqual([1, 2])
    expect(await second.admit([2, 3])).toEqual([3])
    expect(await first.admit([1, 2, 3, 4])).toEqual([4])
    expect(await (await open()).admit([1, 2, 3, 4, 5])).toEqual([5])
    expect(await first.count()).toBe(5)
  })

  it('forgets what was rolled back, although another connection reuses the rows', async () => {
    const [first, second] = [await open(), await open()]
    await first.admit([1])
    await expect(first.admit([2, 3], 1, true)).rejects.toThrow('rolled back')
    expect(await second.admit([4, 5])).toEqual([4, 5])
    expect(await first.admit([1, 2, 4, 5])).toEqual([2])
    expect(await first.count()).toBe(4)
  })

  it('forgets rows that it read before they were rolled back, also if another part of the program added them', async () => {
    await open()
    const database = opened[0] as Database
    const [adding, reading] = [0, 1].map(() => createKnownPeople(database.sync as SyncDatabase)) as [
      KnownPeople,
      KnownPeople,
    ]
    const add = (...indexes: number[]) => {
      adding.refresh(1)
      adding.add(KEY, new Set(indexes.map(toSubject)))
      reading.refresh(1)
    }
    const failing = database.transaction(async () => {
      add(1, 2)
      throw new Error('rolled back')
    })
    await expect(failing).rejects.toThrow('rolled back')
    await database.transaction(async () => {
      add(3, 2)
      expect([1, 2, 3].map((index) => reading.has(KEY, toSubject(index)))).toEqual([false, true, true])
    })
  })

  it('forgets rows that were deleted while the clock was ahead, although their ids are used again', async () => {
    const [first, second] = [await open(), await open()]
    await first.admit([1, 2, 3])
    await guessTable.create(opened[1] as Database).deleteExpired(0, 2)
    await second.admit([4, 5])
    expect(await first.admit([1, 4, 5])).toEqual([1])
    await second.admit([6, 7])
    expect(await first.admit([4, 5, 6, 7])).toEqual([])
  })

  it('counts each day anew', async () => {
    const first = await open()
    await first.admit([1, 2])
    expect(await first.admit([1, 3], 2)).toEqual([1, 3])
    expect(await first.admit([1, 2], 1)).toEqual([])
    expect(await first.count(2)).toBe(2)
  })

  it('tells people apart whose hashes begin alike', async () => {
    const first = await open()
    const [one, other] = [`${'a'.repeat(63)}0`, `${'a'.repeat(63)}1`]
    const database = opened[0] as Database
    const people = createKnownPeople(database.sync as SyncDatabase)
    await database.transaction(async () => {
      people.refresh(1)
      people.add(KEY, new Set([one]))
      people.refresh(1)
      expect([people.has(KEY, one), people.has(KEY, other), people.has('other', one)]).toEqual([
        true,
        false,
        false,
      ])
    })
    expect(await first.count()).toBe(1)
  })

  it('reads many rows of an earlier process', async () => {
    const all = Array.from({ length: 25_000 }, (_each, index) => index)
    await (await open()).admit(all)
    expect(await (await open()).admit([...all, 25_000])).toEqual([25_000])
  })
})
