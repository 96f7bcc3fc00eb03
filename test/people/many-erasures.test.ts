import { randomBytes } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eraseAgain, eraseAgainIn } from '../../src/people/erase-person.ts'
import { addMissing, readErasuresFiles } from '../../src/people/erasures-file.ts'
import { ENGINES, newSettings, withSealed } from '../registry/sealed-registry.ts'
import { toErasureSubject } from './erasure-subject.ts'

const PEOPLE = 450

const createEarlier = () => ({ ...toErasureSubject(randomBytes(32)), erasedAt: 5 })

/** Another database with the same root key, and `erasures.log` of one with so many erasures. */
async function createFiles(engine: (typeof ENGINES)[number]) {
  const source = await newSettings('sqlite')
  const folder = source.TABBAT_DATA_DIR ?? ''
  await withSealed(source, async ({ store, keyring }) => {
    await store.erasure.eraseAgain(Array.from({ length: PEOPLE }, createEarlier), Date.now())
    await addMissing(store.erasure, keyring, folder)
  })
  const target = await newSettings(engine)
  copyFileSync(join(source.TABBAT_DATA_DIR ?? '', 'root.key'), join(target.TABBAT_DATA_DIR ?? '', 'root.key'))
  return { target, files: await readErasuresFiles([folder], folder) }
}

describe.each(ENGINES)('many erasures on %s', (engine) => {
  it('are applied again in portions, each with its audit rows, and once', async () => {
    const { target, files } = await createFiles(engine)
    await withSealed(target, async (sealed) => {
      const portions: number[] = []
      const audit = { record: async (rows: readonly unknown[]) => void portions.push(rows.length) }
      expect(await eraseAgain({ ...sealed, audit }, files)).toHaveLength(PEOPLE)
      expect(portions).toEqual([200, 200, 50])
      expect(await eraseAgain({ ...sealed, audit }, files)).toEqual([])
    })
  })

  it('are applied again by a restore without a lock for each person', async () => {
    const { target, files } = await createFiles(engine)
    await withSealed(target, async ({ store, keyring }) => {
      const { again, locks } = await store.database.transaction(async (tx) => {
        const { erasedAgain } = await eraseAgainIn(tx, keyring, files)
        const count =
          "SELECT COUNT(*) AS locks FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
        const row = tx.dialect === 'postgres' ? await tx.prepare(count).get() : { locks: 0 }
        return { again: erasedAgain.length, locks: Number(row?.locks) }
      })
      expect(again).toBe(PEOPLE)
      expect(locks).toBeLessThan(10)
    })
  })
})
