import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SealedStore } from '../../src/context/sealed-store.ts'
import { checkErasures } from '../../src/health/restore-checks.ts'
import { erasePerson } from '../../src/people/erase-person.ts'
import { createFileStep } from '../../src/people/erasures-file.ts'
import type { Settings } from '../process/tabbat.ts'
import { tabbat } from '../registry/run.ts'
import {
  ENGINES,
  keysOf,
  newSettings,
  save,
  toConfig,
  toNumber,
  withSealed,
} from '../registry/sealed-registry.ts'

const HOUR_MS = 3_600_000

const fileOf = (settings: Settings) => join(settings.TABBAT_DATA_DIR ?? '', 'erasures.log')
const countLines = (settings: Settings) => readFileSync(fileOf(settings), 'utf8').trim().split('\n').length

const erase = (settings: Settings, sealed: SealedStore, index: number) =>
  erasePerson(
    { ...sealed, config: toConfig(settings), audit: { record: async () => {} } },
    'nin',
    toNumber(index),
  )

/** Erasures that a server has added long ago. */
const makeOld = ({ store }: SealedStore) =>
  store.database.prepare('UPDATE erasures SET erased_at = erased_at - 3600000').run()

function openStep(settings: Settings, { store, keyring }: SealedStore) {
  const events: string[] = []
  const step = createFileStep({
    ...{ table: store.erasure, keyring, config: toConfig(settings) },
    log: { event: (level, event) => void events.push(`${level} ${event}`), failure: () => {} },
  })
  return { step, events }
}

const diagnose = async (settings: Settings, sealed: SealedStore) => {
  const { status, text } = await checkErasures({
    ...sealed,
    config: toConfig(settings),
    now: Date.now() + HOUR_MS,
  })
  return `${status}: ${text}`
}

describe.each(ENGINES)('erasures.log on %s', (engine) => {
  it.each<[string, (file: string) => void]>([
    ['deleted', (file) => rmSync(file)],
    ['cut', (file) => truncateSync(file, 10)],
  ])('is written again with all erasures after it was %s while a server runs', async (_how, damage) => {
    const settings = await newSettings(engine)
    await withSealed(settings, async (sealed) => {
      await erase(settings, sealed, 0)
      await makeOld(sealed)
      await erase(settings, sealed, 1)
      rmSync(fileOf(settings))
      const { step, events } = openStep(settings, sealed)
      await step()
      expect(await diagnose(settings, sealed)).toBe(
        `ok: 2 made. Those older than two minutes are in ${fileOf(settings)}.`,
      )
      damage(fileOf(settings))
      expect(await diagnose(settings, sealed)).toMatch(/^failed: Not in erasures\.log .*: 2 of 2 erasures\./)
      await step()
      expect(await diagnose(settings, sealed)).toMatch(/^ok/)
      await step()
      expect(events).toEqual(['warn erasures_file_cut'])
    })
  })

  it('is written again by the next erasure after it was deleted', async () => {
    const settings = await newSettings(engine)
    await withSealed(settings, async (sealed) => {
      await erase(settings, sealed, 0)
      await erase(settings, sealed, 1)
      rmSync(fileOf(settings))
      expect(await erase(settings, sealed, 2)).toMatchObject({ fileProblem: undefined })
      expect(countLines(settings)).toBe(3)
      await erase(settings, sealed, 3)
      expect(countLines(settings)).toBe(4)
      // Also of the last minutes.
      const found = await checkErasures({ ...sealed, config: toConfig(settings), now: Date.now() })
      expect(found).toMatchObject({ status: 'ok', text: expect.stringMatching(/^4 made/) })
    })
  })

  it('that cannot be written is reported once, and written when it can be', async () => {
    const settings = await newSettings(engine)
    const folder = join(settings.TABBAT_DATA_DIR ?? '', 'copies')
    writeFileSync(folder, '')
    const blocked = { ...settings, TABBAT_CHECKPOINT_DIR: folder }
    await withSealed(settings, async (sealed) => {
      expect(await erase(blocked, sealed, 0)).toMatchObject({ fileProblem: expect.any(String) })
      const { step, events } = openStep(blocked, sealed)
      await step()
      await step()
      expect(await diagnose(blocked, sealed)).toMatch(/^failed: erasures\.log in .* cannot be written \(E/)
      expect(events).toEqual(['error erasures_file_failed'])
      rmSync(folder)
      await step()
      expect(events).toEqual(['error erasures_file_failed', 'info erasures_file_written'])
      expect(await diagnose(blocked, sealed)).toMatch(/^ok: 1 made\. /)
    })
  })

  it('that lacks erasures of the backup is a warning of the restore', async () => {
    const source = await newSettings(engine)
    await save(source, 0, 3)
    await withSealed(source, (sealed) => erase(source, sealed, 0))
    const backup = join(source.TABBAT_DATA_DIR ?? '', 'a.backup')
    expect(await tabbat(source, ['backup', backup])).toMatchObject({ code: 0 })
    for (const isCut of [true, false]) {
      const target = await newSettings(engine)
      writeFileSync(join(target.TABBAT_DATA_DIR ?? '', 'root.key'), `${keysOf(source)[0]}\n`, { mode: 0o600 })
      writeFileSync(fileOf(target), isCut ? '' : readFileSync(fileOf(source)))
      const { code, stderr } = await tabbat(target, ['restore', backup])
      expect(code).toBe(0)
      const text = '1 erasure of the backup is not in erasures.log: the file was deleted or cut.'
      expect(stderr.includes(text)).toBe(isCut)
    }
  })
})

it('with a line that is not signed is named by doctor', async () => {
  const settings = await newSettings('sqlite')
  await withSealed(settings, async (sealed) => {
    await erase(settings, sealed, 0)
    writeFileSync(fileOf(settings), readFileSync(fileOf(settings), 'utf8').replace('"nin"', '"bvn"'))
    expect(await diagnose(settings, sealed)).toMatch(/^failed: Line 1 of .* is not an erasure/)
  })
})
