import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { runTasks } from '../../src/server/cleanup.ts'
import { describeEngines, POSTGRES, SQLITE_WITH_WRITER } from '../engines.ts'

/** More than many steps, so that a single statement for all of it would be noticed. */
const ROWS = 25_000

describeEngines([SQLITE_WITH_WRITER, POSTGRES], (engine) => {
  let store: Store
  beforeEach(async () => {
    store = await (await engine.createPlace()).open()
  })
  afterEach(() => store.close())

  const count = async (table: string) =>
    Number((await store.database.prepare(`SELECT COUNT(*) AS rows FROM ${table}`).get())?.rows)
  const fill = async () => {
    const numbers =
      store.database.dialect === 'postgres'
        ? `SELECT n FROM generate_series(1, ${ROWS}) AS n`
        : `WITH RECURSIVE list(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM list WHERE n < ${ROWS}) SELECT n FROM list`
    const toBytes =
      store.database.dialect === 'postgres' ? "decode(lpad(n::text, 64, '0'), 'hex')" : 'CAST(n AS BLOB)'
    await store.database
      .prepare(
        `INSERT INTO key_subjects (key_id, day, subject) SELECT 'key00001', CASE WHEN n % 5 = 0 THEN 2 ELSE 1 END, ${toBytes}
         FROM (${numbers}) AS numbers`,
      )
      .run()
  }

  it('what is old is deleted in steps, and nothing else', async () => {
    await fill()
    const steps: number[] = []
    const failures: unknown[] = []
    const deleteExpired = async () => {
      const deleted = await store.guesses.deleteExpired(0, 2)
      steps.push(deleted)
      return deleted
    }
    const broken = () => Promise.reject(new Error('a broken task'))
    await runTasks([broken, deleteExpired], { failure: (error) => failures.push(error) }, () => false)
    const step = store.database.dialect === 'postgres' ? 1000 : 100
    expect(steps).toEqual([...Array.from({ length: 20_000 / step }, () => step), 0])
    expect(await count('key_subjects')).toBe(ROWS / 5)
    expect(failures).toEqual([new Error('a broken task')])
  })

  it('stops between two steps', async () => {
    await fill()
    let calls = 0
    await runTasks([() => store.guesses.deleteExpired(0, 2)], { failure: () => {} }, () => ++calls > 3)
    expect(await count('key_subjects')).toBe(ROWS - (store.database.dialect === 'postgres' ? 3000 : 300))
  })
})
