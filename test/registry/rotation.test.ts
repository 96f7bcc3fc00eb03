import type { KeyObject } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createRootKeyText } from '../../src/crypto/root-key.ts'
import { toAssociatedData, unseal } from '../../src/crypto/seal.ts'
import { loadKeyring } from '../../src/database/load-keyring.ts'
import { ROTATION_LOCK, withProcessLock } from '../../src/database/process-lock.ts'
import { registryTable } from '../../src/registry/registry-table.ts'
import { rotationTable } from '../../src/registry/rotation-table.ts'
import { openTestApp } from '../app.ts'
import { type Recorded, recordStatements } from '../database/record-statements.ts'
import type { Settings } from '../process/tabbat.ts'
import { tabbat } from './run.ts'
import {
  countReadable,
  ENGINES,
  keysOf,
  newSettings,
  removeRecord,
  rotate,
  save,
  subjectOf,
  toBatch,
  toConfig,
  toNumber,
  toReader,
  withSealed,
} from './sealed-registry.ts'

/** The key with which a server signs links to pictures. */
async function readPictureKey(settings: Settings): Promise<KeyObject> {
  const { context, close } = await openTestApp(settings)
  const key = context.pictureKey()
  await close()
  return key
}

describe.concurrent.each(ENGINES)('a rotation of the root key on %s', (engine) => {
  it('reseals every row, while running and starting servers can read every row', async () => {
    const settings = await newSettings(engine)
    await save(settings, 0, 24, 5)
    await withSealed(settings, async (running) => {
      const reader = toReader(settings, running)
      const seen: Promise<unknown>[] = []
      const readAll = () => withSealed(settings, (started) => countReadable(toReader(settings, started), 24))
      const rotation = await rotate(settings, () => {
        seen.push(readAll(), countReadable(reader, 24))
      })
      expect(rotation).toMatchObject({
        outcome: 'rotated',
        version: 2,
        sealed: { registry: 24, media: 5 },
      })
      // Prepared, begun, three times some records, three times some pictures, the predecessor forgotten.
      expect(await Promise.all(seen)).toEqual(Array(18).fill({ records: 24, pictures: 5 }))
      expect(await countReadable(reader, 24)).toEqual({ records: 24, pictures: 5 })
      expect(keysOf(settings)).toHaveLength(1)
    })
  })

  it('keeps the hash keys: API keys work, and equal records stay equal', async () => {
    const settings = await newSettings(engine)
    await save(settings, 0, 3)
    const before = await withSealed(settings, async ({ keyring }) => keyring)
    await rotate(settings)
    expect((await rotate(settings)).version).toBe(3)
    await withSealed(settings, async ({ store, keyring }) => {
      for (const name of ['api-key-pepper', 'blind-index', 'subject', 'digest'] as const)
        expect(keyring[name].equals(before[name]), name).toBe(true)
      expect(keyring.sealing(3)?.equals(before.sealing(1) as never)).toBe(false)
      expect([keyring.sealing(1), keyring.sealing(2)]).toEqual([undefined, undefined])
      expect(await store.registry.save(toBatch(keyring, 0, 4))).toBe(1)
    })
  })

  it('leaves a thief of the old root key no way to make links to pictures', async () => {
    const settings = await newSettings(engine)
    const stolen = await readPictureKey(settings)
    await rotate(settings)
    expect((await readPictureKey(settings)).equals(stolen)).toBe(false)
  })

  it('leaves no record and no picture that a thief of the old root key can open', async () => {
    const settings = await newSettings(engine)
    await save(settings, 0, 3, 2)
    const stolen = await withSealed(settings, async ({ keyring }) => keyring.sealing(1))
    const countOpened = () =>
      withSealed(settings, async ({ store: { database } }) => {
        const records = await database.prepare('SELECT subject AS id, sealed FROM registry').all()
        const pictures = await database.prepare('SELECT id, sealed FROM media').all()
        const open = (table: string, row: Record<string, unknown>) =>
          [1, 2].some((version) => {
            const bound = toAssociatedData(table, row.id as Uint8Array, version)
            try {
              return unseal(stolen as KeyObject, row.sealed as Uint8Array, bound).length > 0
            } catch {
              return false
            }
          })
        const isOpen = [
          ...records.map((row) => open('registry', row)),
          ...pictures.map((row) => open('media', row)),
        ]
        return isOpen.filter(Boolean).length
      })
    expect(await countOpened()).toBe(5)
    await rotate(settings)
    expect(await countOpened()).toBe(0)
  })

  it('refuses rows that an import sealed before it began', async () => {
    const settings = await newSettings(engine)
    await save(settings, 0, 10)
    await withSealed(settings, async ({ store, keyring }) => {
      const stale = toBatch(keyring, 10, 10)
      await rotate(settings, ({ at }) => at === 'begun' && expect(keysOf(settings)).toHaveLength(2))
      await expect(store.registry.save(stale)).rejects.toThrow(/rotated meanwhile. Run the command again/)
      const { keyring: fresh } = await loadKeyring(toConfig(settings), store)
      expect(await store.registry.save(toBatch(fresh, 10, 10))).toBe(10)
      expect(await store.registry.count()).toEqual([{ kind: 'nin', keyVersion: 2, records: 20 }])
    })
  })

  it('does not overwrite rows that were changed or erased meanwhile', async () => {
    const settings = await newSettings(engine)
    await save(settings, 0, 3)
    await rotate(settings)
    await withSealed(settings, async (sealed) => {
      const { store } = sealed
      const row = await store.registry.find(subjectOf(sealed, 0))
      const old = { id: subjectOf(sealed, 0), keyVersion: 2, sealed: Buffer.from('late') }
      expect(await store.rotation.replace('registry', 2, [old])).toBe(0)
      expect(await store.registry.find(subjectOf(sealed, 0))).toEqual(row)
      await removeRecord(sealed, subjectOf(sealed, 1))
      expect(await store.rotation.replace('registry', 3, [{ ...old, id: subjectOf(sealed, 1) }])).toBe(0)
    })
  })

  it('runs in one process at a time', async () => {
    const settings = await newSettings(engine)
    await withSealed(settings, ({ store }) =>
      withProcessLock(store, ROTATION_LOCK, async () => {
        await expect(rotate(settings)).rejects.toThrow(/Another process is rotating the root key/)
        const { code, stderr } = await tabbat(settings, ['keys', 'rotate-root', '--yes'])
        expect([code, stderr.includes('Another process is rotating the root key')]).toEqual([1, true])
      }),
    )
    expect((await rotate(settings)).outcome).toBe('rotated')
  })

  it('reads no table while it holds the lock of its end', async () => {
    const settings = await newSettings(engine)
    await withSealed(settings, async ({ store }) => {
      const statements: Recorded[] = []
      const database = recordStatements(store.database, statements)
      await rotationTable.create(database).finish()
      expect(statements.filter(({ sql }) => /registry|media/.test(sql))).toEqual([])
    })
  })

  it('does not finish while a row is damaged, and keeps both keys', async () => {
    const settings = await newSettings(engine)
    await withSealed(settings, async ({ store, keyring }) => {
      const { records, ...rest } = toBatch(keyring, 0, 5)
      const [first, ...others] = records
      if (!first) throw new Error()
      const damaged = { ...first, sealed: Buffer.from(first.sealed).fill(0, 20, 24) }
      await store.registry.save({ ...rest, records: [damaged, ...others] })
    })
    await expect(rotate(settings)).rejects.toThrow(/^1 rows are damaged and cannot be opened.*Both keys stay/)
    expect(keysOf(settings)).toHaveLength(2)
    await withSealed(settings, async (sealed) => {
      const reader = toReader(settings, sealed)
      expect((await reader.find('nin', toNumber(4)))?.record.nin_number).toBe(toNumber(4))
      await removeRecord(sealed, subjectOf(sealed, 0))
    })
    expect(await rotate(settings)).toMatchObject({ outcome: 'rotated', version: 2, resumed: true })
    expect(keysOf(settings)).toHaveLength(1)
  })

  it('moves a database from one setting to the next', async () => {
    const [old, next] = [createRootKeyText(), createRootKeyText()]
    const settings = await newSettings(engine)
    const before = { ...settings, TABBAT_ROOT_KEY: old }
    const during = { ...settings, TABBAT_ROOT_KEY: next, TABBAT_ROOT_KEY_PREVIOUS: old }
    const after = { ...settings, TABBAT_ROOT_KEY: next }
    await save(before, 0, 5)
    await expect(rotate(before)).rejects.toThrow(/TABBAT_ROOT_KEY_PREVIOUS to the present one/)
    await expect(rotate(after)).rejects.toThrow(/not the one this database was created with/)
    await withSealed(during, async (running) => {
      const reader = toReader(during, running)
      expect((await countReadable(reader, 5)).records).toBe(5)
      expect(await rotate(during)).toMatchObject({ outcome: 'rotated', version: 2, origin: 'setting' })
      expect((await countReadable(reader, 5)).records).toBe(5)
    })
    await expect(rotate(during)).rejects.toThrow(/present root key of this database/)
    await withSealed(after, async (sealed) =>
      expect((await countReadable(toReader(after, sealed), 5)).records).toBe(5),
    )
    await expect(save(before, 5, 1)).rejects.toThrow(/not the one this database was created with/)
  })

  it('moves a database from one key of a command to the next, while a server runs', async () => {
    const [old, next] = [createRootKeyText(), createRootKeyText()]
    const base = await newSettings(engine)
    const keyFile = join(base.TABBAT_DATA_DIR ?? '', 'keys-of-the-vault')
    const settings = { ...base, TABBAT_ROOT_KEY_COMMAND: `cat "${keyFile}"` }
    writeFileSync(keyFile, old)
    await save(settings, 0, 5)
    await expect(rotate(settings)).rejects.toThrow(/prints the present root key of this database only/)
    await withSealed(settings, async (running) => {
      const reader = toReader(settings, running)
      writeFileSync(keyFile, `${next}\n${old}\n`)
      expect(await rotate(settings)).toMatchObject({ outcome: 'rotated', version: 2, origin: 'command' })
      expect((await countReadable(reader, 5)).records).toBe(5)
      writeFileSync(keyFile, next)
      expect((await countReadable(reader, 5)).records).toBe(5)
    })
    await save(settings, 5, 1)
    writeFileSync(keyFile, old)
    await expect(save(settings, 6, 1)).rejects.toThrow(/not the one this database was created with/)
  })
})

describe.runIf(ENGINES.length > 1)('an uncommitted import on PostgreSQL', () => {
  it('is awaited, and its rows are resealed', async () => {
    const settings = await newSettings('postgres')
    await withSealed(settings, async ({ store, keyring }) => {
      const waiting = store.database.prepare(
        "SELECT COUNT(*) AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
      )
      const { promise: begun, resolve } = Promise.withResolvers<unknown>()
      await store.database.transaction(async (tx) => {
        await registryTable.create(tx).save(toBatch(keyring, 0, 5))
        resolve(rotate(settings))
        while (Number((await waiting.get())?.n) === 0);
      })
      await begun
      expect(await store.registry.count()).toEqual([{ kind: 'nin', keyVersion: 2, records: 5 }])
    })
  })
})
