import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { rotateRoot } from '../../src/registry/rotate.ts'
import { run } from './run.ts'
import {
  countReadable,
  ENGINES,
  newSettings,
  toBatch,
  toConfig,
  toReader,
  withSealed,
} from './sealed-registry.ts'

const RECORDS = 24
const PICTURES = 5
const ALL = { records: RECORDS, pictures: PICTURES }

const STEPS = [
  ['the new key is in the file, but not yet in the database', 'prepared', 1, 'rotated'],
  ['the rotation has begun', 'begun', 1, 'rotated'],
  ['some records are resealed', 'sealing', 1, 'rotated'],
  ['all records and some pictures are resealed', 'sealing', 4, 'rotated'],
  ['everything is done except the key file', 'predecessor_forgotten', 1, 'tidied'],
] as const

describe.concurrent.each(ENGINES)('a rotation on %s that is killed when', (engine) => {
  it.each(STEPS)('%s', async (_when, step, times, outcome) => {
    const settings = await newSettings(engine)
    const keyFile = join(settings.TABBAT_DATA_DIR ?? '', 'root.key')
    const keys = () => readFileSync(keyFile, 'utf8').trim().split('\n')
    await withSealed(settings, ({ store, keyring }) =>
      store.registry.save(toBatch(keyring, 0, RECORDS, PICTURES)),
    )
    const [old] = keys()

    await withSealed(settings, async (running) => {
      const { signal } = await run(settings, ['test/registry/rotate-and-die.ts', step, String(times)])
      expect(signal).toBe('SIGKILL')
      expect(keys()).toHaveLength(2)
      expect(await countReadable(toReader(settings, running), RECORDS)).toEqual(ALL)
    })
    const [prepared] = keys()
    await withSealed(settings, async (started) => {
      expect(await countReadable(toReader(settings, started), RECORDS)).toEqual(ALL)
      const rotation = await rotateRoot(toConfig(settings), started)
      expect(rotation).toMatchObject({ outcome, version: 2 })
      expect(await countReadable(toReader(settings, started), RECORDS)).toEqual(ALL)
    })
    expect(keys()).toEqual([prepared])
    expect(prepared).not.toBe(old)
    expect(readdirSync(settings.TABBAT_DATA_DIR ?? '').filter((name) => name.includes('root'))).toEqual([
      'root.key',
    ])
    await withSealed(settings, async (after) => {
      expect((await after.store.meta.read()).root_previous_fingerprint).toBeUndefined()
      expect(await after.store.registry.count()).toEqual([{ kind: 'nin', keyVersion: 2, records: RECORDS }])
      expect(await countReadable(toReader(settings, after), RECORDS)).toEqual(ALL)
    })
  })
})
