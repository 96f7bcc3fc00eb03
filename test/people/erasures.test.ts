import { appendFileSync, copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { addMissing, scanErasures } from '../../src/people/erasures-file.ts'
import { rotateRoot } from '../../src/registry/rotate.ts'
import type { Settings } from '../process/tabbat.ts'
import { tabbat } from '../registry/run.ts'
import {
  countReadable,
  ENGINES,
  newSettings,
  save,
  toConfig,
  toNumber,
  toReader,
  withSealed,
} from '../registry/sealed-registry.ts'

const REASON = ['--reason', 'Request of erasure, case 17']
const inFolder = (settings: Settings, name: string) => join(settings.TABBAT_DATA_DIR ?? '', name)
const fileOf = (settings: Settings) => inFolder(settings, 'erasures.log')

const erase = (settings: Settings, index: number) =>
  tabbat(settings, ['person', 'erase', 'nin', ...REASON, '--yes', '--json'], toNumber(index))

/** Another database of that kind, with the same root key. */
async function newTarget(engine: (typeof ENGINES)[number], source: Settings): Promise<Settings> {
  const settings = await newSettings(engine)
  copyFileSync(inFolder(source, 'root.key'), inFolder(settings, 'root.key'))
  return settings
}

const countRecords = (settings: Settings, count: number) =>
  withSealed(settings, async (sealed) => (await countReadable(toReader(settings, sealed), count)).records)

const listErased = (settings: Settings) =>
  withSealed(settings, async ({ store }) => {
    const rows = await store.database
      .prepare("SELECT outcome, detail FROM audit WHERE phase = 'record_erased'")
      .all()
    return rows.map(({ outcome, detail }) => `${outcome} ${detail}`)
  })

/** Three people, a backup, and then the first is erased. */
async function eraseAfterBackup(engine: (typeof ENGINES)[number]) {
  const source = await newSettings(engine)
  await save(source, 0, 3, 1)
  const backup = inFolder(source, 'before.backup')
  expect(await tabbat(source, ['backup', backup])).toMatchObject({ code: 0 })
  expect(await erase(source, 0)).toMatchObject({ code: 0 })
  return { source, backup }
}

describe.each(ENGINES)('an erasure on %s', (engine) => {
  it('leaves a tombstone in the database and a signed line in a file, without the number', async () => {
    const { source } = await eraseAfterBackup(engine)
    expect(await erase(source, 9)).toMatchObject({ code: 0 })
    const text = readFileSync(fileOf(source), 'utf8')
    expect(text.trim().split('\n')).toHaveLength(2)
    expect(text).not.toContain(toNumber(0))
    expect(statSync(fileOf(source)).mode & 0o777).toBe(0o600)
    await withSealed(source, async ({ store, keyring }) => {
      const rows = await store.erasure.listTombstones({ erasedAt: 0, id: '' }, 10)
      const { erasures, unsignedLine } = scanErasures({ file: '', text }, keyring)
      expect(unsignedLine).toBeUndefined()
      expect(erasures.map(({ id }) => id)).toEqual(rows.map(({ id }) => id))
    })
    expect(await listErased(source)).toEqual([
      expect.stringMatching(/^erased nin: 1 record, 1 picture; reason: Request of erasure, case 17; by /),
      expect.stringMatching(/^not_found nin; reason: Request of erasure, case 17; by /),
    ])
  })

  it('is applied again by a restore of an older backup, in the same transaction, and once', async () => {
    const { source, backup } = await eraseAfterBackup(engine)
    const target = await newTarget(engine, source)
    const restored = await tabbat(target, [
      ...['restore', backup, '--json', '--erasures', source.TABBAT_DATA_DIR ?? ''],
    ])
    expect(restored).toMatchObject({ code: 0 })
    expect(JSON.parse(restored.stdout)).toMatchObject({ erased_again: 1, erasure_files: [fileOf(source)] })
    expect(await countRecords(target, 3)).toBe(2)
    expect(await listErased(target)).toEqual([
      expect.stringMatching(/^erased nin: 1 record, 1 picture; again after a restore, first erased 2\d{3}-/),
    ])
    // The database knows it now, so that a person who was imported again stays.
    await save(target, 0, 1)
    const again = await tabbat(target, ['person', 'erase-again', fileOf(source), '--yes', '--json'])
    expect(JSON.parse(again.stdout)).toMatchObject({ applied: 0, found: 0 })
    expect(await countRecords(target, 3)).toBe(3)
  })

  it('is not applied again to a backup that was made after it', async () => {
    const { source } = await eraseAfterBackup(engine)
    await save(source, 0, 1)
    const later = inFolder(source, 'later.backup')
    await tabbat(source, ['backup', later])
    const target = await newTarget(engine, source)
    const restored = await tabbat(target, ['restore', later, '--json', '--erasures', fileOf(source)])
    expect(JSON.parse(restored.stdout)).toMatchObject({ erased_again: 0 })
    expect(await countRecords(target, 3)).toBe(3)
  })
})

describe('a restore on the same machine', () => {
  it('finds the file by itself, beside the checkpoints', async () => {
    const { source, backup } = await eraseAfterBackup('sqlite')
    const target = await newTarget('sqlite', source)
    copyFileSync(fileOf(source), fileOf(target))
    const restored = await tabbat(target, ['restore', backup])
    expect(restored).toMatchObject({ code: 0 })
    expect(restored.stdout).toContain(`1 erasure of ${fileOf(target)} applied again.`)
    expect(await countRecords(target, 3)).toBe(2)
  })

  it('says that people may be back where there is no file, and the file can be applied later', async () => {
    const { source, backup } = await eraseAfterBackup('sqlite')
    const target = await newTarget('sqlite', source)
    const restored = await tabbat(target, ['restore', backup])
    expect(restored).toMatchObject({ code: 0 })
    expect(restored.stderr).toContain('no erasures.log was found')
    expect(await countRecords(target, 3)).toBe(3)
    const later = await tabbat(target, ['person', 'erase-again', source.TABBAT_DATA_DIR ?? '', '--yes'])
    expect(later.stdout).toContain('1 erasure applied again; data was found for 1.')
    expect(await countRecords(target, 3)).toBe(2)
    // From now on, this node has it in its own file.
    expect(readFileSync(fileOf(target), 'utf8')).toBe(readFileSync(fileOf(source), 'utf8'))
  })

  it('restores nothing with a line that was changed, or of another database', async () => {
    const { source, backup } = await eraseAfterBackup('sqlite')
    const other = await newSettings('sqlite')
    await save(other, 0, 1)
    await erase(other, 0)
    const changed = inFolder(source, 'changed.log')
    const changeByte = (text: string) => `"subject":"${text.endsWith('00') ? '11' : '00'}`
    writeFileSync(changed, readFileSync(fileOf(source), 'utf8').replace(/"subject":"../, changeByte))
    for (const file of [changed, fileOf(other)]) {
      const target = await newTarget('sqlite', source)
      const { code, stderr } = await tabbat(target, ['restore', backup, '--erasures', file])
      expect([code, stderr]).toEqual([1, expect.stringContaining(`Line 1 of ${file} is not an erasure`)])
      await withSealed(target, async ({ store }) => expect(await store.registry.count()).toEqual([]))
    }
    const missing = await tabbat(await newTarget('sqlite', source), [
      'restore',
      backup,
      '--erasures',
      '/nowhere',
    ])
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringContaining('There is no erasures.log at /nowhere'),
    ])
  })

  it('takes a file whose last line was cut off by a crash, and the next erasure begins a new line', async () => {
    const { source, backup } = await eraseAfterBackup('sqlite')
    appendFileSync(fileOf(source), '{"id":"era_')
    await erase(source, 1)
    const target = await newTarget('sqlite', source)
    const restored = await tabbat(target, ['restore', backup, '--json', '--erasures', fileOf(source)])
    expect(JSON.parse(restored.stdout)).toMatchObject({ erased_again: 2 })
    expect(await countRecords(target, 3)).toBe(1)
  })

  it('applies erasures of before a rotation of the root key', async () => {
    const { source, backup } = await eraseAfterBackup('sqlite')
    const oldKey = readFileSync(inFolder(source, 'root.key'))
    await withSealed(source, (sealed) => rotateRoot(toConfig(source), sealed))
    await erase(source, 1)
    const target = await newSettings('sqlite')
    writeFileSync(inFolder(target, 'root.key'), oldKey, { mode: 0o600 })
    const restored = await tabbat(target, ['restore', backup, '--json', '--erasures', fileOf(source)])
    expect(JSON.parse(restored.stdout)).toMatchObject({ erased_again: 2 })
    expect(await countRecords(target, 3)).toBe(1)
  })
})

describe.each(ENGINES)('the file of another node on %s', (engine) => {
  it('gets the erasures of all nodes, each once', async () => {
    const { source } = await eraseAfterBackup(engine)
    const folder = inFolder(source, 'node-2')
    await withSealed(source, async ({ store, keyring }) => {
      await addMissing(store.erasure, keyring, folder)
      await addMissing(store.erasure, keyring, folder)
    })
    expect(readFileSync(join(folder, 'erasures.log'), 'utf8')).toBe(readFileSync(fileOf(source), 'utf8'))
  })
})

describe('a folder that cannot be written', () => {
  it('does not stop the erasure, and the command says what to do', async () => {
    const settings = await newSettings('sqlite')
    await save(settings, 0, 1)
    const blocked = inFolder(settings, 'blocked')
    writeFileSync(blocked, '')
    // The checkpoint of the command fails as well, which is not fatal.
    const result = await tabbat(
      { ...settings, TABBAT_CHECKPOINT_DIR: blocked },
      ['person', 'erase', 'nin', ...REASON, '--yes'],
      toNumber(0),
    )
    expect(result.stderr).toContain('could not be added to erasures.log')
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining('Erased: 1 record.') })
    expect(existsSync(fileOf(settings))).toBe(false)
    expect(await countRecords(settings, 1)).toBe(0)
  })
})
