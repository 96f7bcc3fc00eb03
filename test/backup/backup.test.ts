import { randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DATA_TABLES, TRANSIENT_TABLES } from '../../src/backup/format.ts'
import { readBackup } from '../../src/backup/read-backup.ts'
import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { withSnapshot } from '../../src/backup/snapshot.ts'
import { writeBackup } from '../../src/backup/write-backup.ts'
import { openStore } from '../../src/context/store.ts'
import { toMonth } from '../../src/ledger/audit-months.ts'
import { rotateRoot } from '../../src/registry/rotate.ts'
import { admitGuess } from '../ledger/commit-parts.ts'
import { toGuess } from '../ledger/guess.ts'
import { execute } from '../postgres.ts'
import type { Settings } from '../process/tabbat.ts'
import { dump, fillEmptyTables, listTables } from '../registry/full-database.ts'
import { tabbat } from '../registry/run.ts'
import {
  countReadable,
  ENGINES,
  newSettings,
  removeRecord,
  toBatch,
  toConfig,
  toReader,
  withSealed,
} from '../registry/sealed-registry.ts'

const inFolder = (settings: Settings, name: string) => join(settings.TABBAT_DATA_DIR ?? '', name)

const save = (settings: Settings, count: number, pictures = 0) =>
  withSealed(settings, ({ store, keyring }) => store.registry.save(toBatch(keyring, 0, count, pictures)))

const backUp = (settings: Settings, file: string, force = false) =>
  withSealed(settings, (sealed) => writeBackup(sealed, file, { force }))

/** Another database of that kind, with the same root key. */
async function newTarget(engine: (typeof ENGINES)[number], source: Settings): Promise<Settings> {
  const settings = await newSettings(engine)
  writeFileSync(inFolder(settings, 'root.key'), readFileSync(inFolder(source, 'root.key')), { mode: 0o600 })
  return settings
}

async function restore(settings: Settings, file: string, force = false): Promise<void> {
  const { dataDir, databaseUrl } = toConfig(settings)
  const store = await openStore({ dataDir, databaseUrl })
  try {
    await restoreBackup(toConfig(settings), store, file, { force })
  } finally {
    await store.close()
  }
}

const PAIRS = ENGINES.flatMap((from) => ENGINES.map((to) => [from, to] as const))

describe.concurrent.each(PAIRS)('a backup of %s restored into %s', (from, to) => {
  it('has the same rows in every table', async () => {
    const source = await newSettings(from)
    const file = inFolder(source, 'all.backup')
    await save(source, 450, 20)
    const before = await withSealed(source, async ({ store }) => {
      // Failures at the same time are identical rows.
      for (let time = 0; time < 3; time++)
        await admitGuess(store, toGuess({ id: 'same', subject: Buffer.alloc(32), keyId: 'k' }))
      await fillEmptyTables(store)
      return dump(store)
    })
    const { counts } = await backUp(source, file)
    const target = await newTarget(to, source)
    await restore(target, file)
    await withSealed(target, async (sealed) => {
      expect(await dump(sealed.store)).toEqual(before)
      expect(counts).toMatchObject({ registry: 450, media: 20, attempts: 3 })
      expect(await countReadable(toReader(target, sealed), 30)).toEqual({ records: 30, pictures: 20 })
    })
  })
})

describe.concurrent.each(ENGINES)('on %s', (engine) => {
  it('every table is in a backup, except short-lived data', async () => {
    const { TABBAT_DATABASE_URL: databaseUrl, ...rest } = await newSettings(engine)
    const store = await openStore({ dataDir: rest.TABBAT_DATA_DIR ?? '', databaseUrl })
    expect(await listTables(store.database)).toEqual(
      [...DATA_TABLES, ...TRANSIENT_TABLES, 'schema_state'].toSorted(),
    )
    await store.close()
  })

  it('sessions and invitations are not in a backup, and a restore deletes them', async () => {
    const source = await newSettings(engine)
    const file = inFolder(source, 'people.backup')
    const addAccount = (settings: Settings, name: string) =>
      withSealed(settings, async ({ store: { accounts } }) => {
        const invitation = {
          role: 'owner',
          account: undefined,
          madeBy: 'root (cli)',
          createdAt: 1,
          expiresAt: 9,
        } as const
        const [used, unused] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
        for (const id of [used, unused]) await accounts.invite({ ...invitation, id })
        await accounts.accept(used, {
          name,
          role: 'owner',
          password: 'p',
          createdAt: 1,
          lastSeenAt: undefined,
        })
        await accounts.open({ id: used, account: name, password: 'p', at: 5 })
      })
    const read = (settings: Settings) =>
      withSealed(settings, async ({ store: { accounts } }) => [
        (await accounts.list()).map(({ name }) => name),
        await accounts.findSession(Buffer.alloc(32, 1), { openedAfter: 0, seenAfter: 0 }),
        await accounts.findInvitation(Buffer.alloc(32, 2), 0),
      ])
    await addAccount(source, 'ada')
    await backUp(source, file)
    const target = await newTarget(engine, source)
    await addAccount(target, 'bola')
    expect(await read(target)).toEqual([['bola'], expect.anything(), expect.anything()])
    await restore(target, file, true)
    expect(await read(target)).toEqual([['ada'], undefined, undefined])
  })

  it('a backup is a snapshot, also with concurrent writes and erasures', async () => {
    const settings = await newSettings(engine)
    await save(settings, 450)
    await withSealed(settings, async ({ store, keyring }) => {
      const before = await dump(store)
      await withSnapshot(store, async (snapshot) => {
        const seen: string[] = []
        for await (const rows of snapshot.rows('registry')) {
          await store.registry.save(toBatch(keyring, 1000 + seen.length, 10, 1))
          await removeRecord({ store }, rows[0]?.subject as Uint8Array)
          seen.push(...rows.map(({ subject }) => Buffer.from(subject as Uint8Array).toString('hex')))
        }
        expect(seen).toHaveLength(before.registry?.length ?? 0)
        expect([await snapshot.count('registry'), await snapshot.count('media')]).toEqual([450, 0])
      })
      expect(await dump(store)).not.toEqual(before)
    })
  })

  it.skipIf(engine === 'sqlite')('no month of the audit log is removed during a backup', async () => {
    const settings = await newSettings(engine)
    await withSealed(settings, async ({ store }) => {
      await store.audit.prepareMonths(Date.now())
      const month = `audit_${toMonth(Date.now())}`
      const detach = () =>
        execute(
          settings.TABBAT_DATABASE_URL ?? '',
          "SET lock_timeout = '200ms'",
          `ALTER TABLE audit DETACH PARTITION ${month}`,
        )
      // Before the backup has read anything.
      await withSnapshot(store, async () => expect(detach()).rejects.toThrow('lock timeout'))
      await expect(detach()).resolves.toBeDefined()
    })
  })

  it('a backup taken during a rotation is restored, and the rotation continues', async () => {
    const settings = await newSettings(engine)
    const file = inFolder(settings, 'rotating.backup')
    await save(settings, 20)
    const { promise, resolve } = Promise.withResolvers<unknown>()
    await withSealed(settings, async ({ store }) => {
      const onStep = ({ at }: { at: string }) => {
        if (at !== 'begun') return
        resolve(backUp(settings, file).then(() => Promise.reject(new Error('stop here'))))
        throw new Error('stop here')
      }
      await expect(rotateRoot(toConfig(settings), { store }, { onStep })).rejects.toThrow('stop here')
      await expect(promise).rejects.toThrow('stop here')
    })
    const target = await newTarget(engine, settings)
    await restore(target, file)
    await withSealed(target, async (sealed) => {
      expect((await countReadable(toReader(target, sealed), 20)).records).toBe(20)
      expect(await rotateRoot(toConfig(target), sealed)).toMatchObject({ outcome: 'rotated', resumed: true })
      expect((await countReadable(toReader(target, sealed), 20)).records).toBe(20)
    })
  })
})

const partsIn = (settings: Settings) =>
  readdirSync(inFolder(settings, ''))
    .filter((name) => name.includes('.partial'))
    .toSorted()

describe('the file', () => {
  it('is readable by its owner only, written atomically, and not overwritten', async () => {
    const settings = await newSettings('sqlite')
    const file = inFolder(settings, 'a.backup')
    await save(settings, 3)
    await backUp(settings, file)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(partsIn(settings)).toEqual([])
    const first = readFileSync(file)
    await expect(backUp(settings, file)).rejects.toThrow(/exists. Give another name, or --force/)
    expect(readFileSync(file).equals(first)).toBe(true)
    await backUp(settings, file, true)
    expect(readFileSync(file).equals(first)).toBe(false)
  })

  it('cannot be written to a missing folder, and leaves no file', async () => {
    const settings = await newSettings('sqlite')
    await save(settings, 3)
    await expect(backUp(settings, inFolder(settings, 'none/a.backup'))).rejects.toThrow(/There is no folder/)
    const folder = inFolder(settings, 'folder')
    mkdirSync(folder)
    await expect(backUp(settings, folder, true)).rejects.toThrow(/cannot be written/)
    expect(partsIn(settings)).toEqual([])
  })

  it('is written once, whole, by two backups at the same time', async () => {
    const settings = await newSettings('sqlite')
    const file = inFolder(settings, 'a.backup')
    await save(settings, 3)
    await withSealed(settings, async (sealed) => {
      let second: Promise<unknown> | undefined
      const onProgress = () => {
        second ??= writeBackup(sealed, file).catch((error) => error)
      }
      const first = await writeBackup(sealed, file, { onProgress }).catch((error) => error)
      expect([first, await second]).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ counts: expect.objectContaining({ registry: 3 }) }),
          expect.objectContaining({ message: expect.stringContaining('exists. Give another name') }),
        ]),
      )
      expect(await readBackup(file, sealed.rootKeys, { onRows: () => {} })).toMatchObject({
        counts: { registry: 3 },
      })
    })
    expect(partsIn(settings)).toEqual([])
  })

  it('replaces parts that interrupted runs left, but none that may be in use', async () => {
    const settings = await newSettings('sqlite')
    await save(settings, 3)
    const old = new Date(Date.now() - 2 * 3_600_000)
    const [mine, young] = [`a.backup.partial-${randomUUID()}`, `a.backup.partial-${randomUUID()}`]
    const dated = `tabbat-20260301-023000.backup.partial-${randomUUID()}`
    for (const name of [mine, young, dated, 'a.backup.partial', 'b.backup.partial']) {
      writeFileSync(inFolder(settings, name), 'from an interrupted run')
      if (name !== young) utimesSync(inFolder(settings, name), old, old)
    }
    await backUp(settings, inFolder(settings, 'a.backup'))
    expect(partsIn(settings)).toEqual([young, 'b.backup.partial', dated])
    await backUp(settings, inFolder(settings, 'tabbat-20260302-023000.backup'))
    expect(partsIn(settings)).toEqual([young, 'b.backup.partial'])
  })

  it('is not written with a root key that a rotation has replaced meanwhile', async () => {
    const settings = await newSettings('sqlite')
    await save(settings, 3)
    await withSealed(settings, async ({ store, rootKeys }) => {
      await withSealed(settings, (sealed) => rotateRoot(toConfig(settings), sealed))
      const file = inFolder(settings, 'a.backup')
      await expect(writeBackup({ store, rootKeys }, file)).rejects.toThrow('A rotation of the root key began')
    })
    expect(partsIn(settings)).toEqual([])
  })

  it('is not written for an empty database', async () => {
    for (const engine of ENGINES) {
      const settings = await newSettings(engine)
      const { code, stderr } = await tabbat(settings, ['backup', inFolder(settings, 'a.backup')])
      expect([code, /There is no (database|Tabbat data) at/.test(stderr)]).toEqual([1, true])
      expect(partsIn(settings)).toEqual([])
    }
  })
})

describe('tabbat backup and restore', () => {
  it('report the result, and that the root key is not in the backup', async () => {
    const settings = await newSettings('sqlite')
    const file = inFolder(settings, 'a.backup')
    await save(settings, 3)
    const made = await tabbat(settings, ['backup', file])
    expect([made.code, made.stdout]).toEqual([0, expect.stringContaining('The backup is complete')])
    expect(made.stderr).toMatch(/root key is NOT in the backup.*root\.key/)
    const json = await tabbat(settings, ['backup', file, '--force', '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({ file, bytes: statSync(file).size, rows: { registry: 3 } })
    const target = await newTarget('sqlite', settings)
    const restored = await tabbat(target, ['restore', file])
    expect([restored.code, restored.stdout]).toEqual([0, expect.stringContaining('3 rows of the registry')])
    chmodSync(file, 0o400)
    const again = await tabbat(target, ['restore', file, '--force', '--yes'])
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('holds an audit log')])
    const other = await tabbat(await newTarget('sqlite', settings), ['restore', file, '--json'])
    expect(JSON.parse(other.stdout)).toMatchObject({ rows: { registry: 3 } })
  })

  it('say that the folder of the file is missing', async () => {
    const settings = await newSettings('sqlite')
    await save(settings, 1)
    const folder = inFolder(settings, 'missing')
    const { code, stderr } = await tabbat(settings, ['backup', `${folder}/a.backup`])
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`There is no folder ${folder}. Create it, or give another file.`),
    ])
  })

  it('say that a key which was revoked after the backup is valid again', async () => {
    const settings = await newSettings('sqlite')
    const file = inFolder(settings, 'a.backup')
    const made = await tabbat(settings, ['keys', 'create', '--name', 'shop', '--mode', 'live', '--json'])
    const { id } = JSON.parse(made.stdout) as { id: string }
    await tabbat(settings, ['backup', file])
    await tabbat(settings, ['keys', 'revoke', id])
    const target = await newTarget('sqlite', settings)
    const restored = await tabbat(target, ['restore', file])
    expect([restored.code, restored.stderr]).toEqual([
      0,
      expect.stringContaining('What was revoked, removed or changed later is valid again.'),
    ])
    const { stdout } = await tabbat(target, ['keys', 'list', '--json'])
    expect(JSON.parse(stdout)).toMatchObject([{ id, state: 'active' }])
  })
})
