import { randomUUID } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createRootKeyText, writeRootKeyFile } from '../../src/crypto/root-key.ts'
import { loadKeyring } from '../../src/database/load-keyring.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import type { Settings } from '../process/tabbat.ts'
import { tabbat } from './run.ts'
import {
  keyFileOf,
  keysOf,
  newSettings,
  rotate,
  save,
  subjectOf,
  toConfig,
  toNumber,
  withSealed,
} from './sealed-registry.ts'

const keyFilesOf = (settings: Settings) =>
  readdirSync(dirname(keyFileOf(settings)))
    .filter((name) => name.startsWith('root.key'))
    .toSorted()

describe.concurrent('keys rotate-root', () => {
  it('reports what was done and what remains to do', async () => {
    const settings = await newSettings('sqlite')
    await save(settings, 0, 2)
    const { code, stdout, stderr } = await tabbat(settings, ['keys', 'rotate-root', '--yes'])
    expect([code, stdout]).toEqual([0, expect.stringContaining('The root key is rotated: version 2.')])
    expect(stdout).toMatch(/roll the API keys/)
    expect(stderr).toMatch(/existing backups open with the current root key only/)
    for (const key of keysOf(settings)) expect(stdout + stderr).not.toContain(key)
    const json = await tabbat(settings, ['keys', 'rotate-root', '--yes', '--json'])
    expect(JSON.parse(json.stdout)).toEqual({
      outcome: 'rotated',
      root_version: 3,
      resumed: false,
      rows_sealed: 2,
      pictures_sealed: 0,
      database: expect.stringMatching(/^SQLite \/.*tabbat\.db$/),
    })
  })

  it('counts records, and not the rows that a server adds', async () => {
    const settings = await newSettings('sqlite')
    await tabbat(settings, ['keys', 'create', '--name', 'shop', '--mode', 'live'])
    const { stdout } = await tabbat(settings, ['keys', 'rotate-root', '--yes'])
    expect(stdout).toContain('0 records of the registry and 0 pictures are sealed under the new key.')
  })

  it('prepares a key for other nodes, and uses it', async () => {
    const settings = await newSettings('sqlite')
    await save(settings, 0, 2)
    const [present] = keysOf(settings)
    await tabbat(settings, ['keys', 'rotate-root', '--prepare'])
    const [prepared, ...others] = keysOf(settings)
    expect(others).toEqual([present])
    await tabbat(settings, ['keys', 'rotate-root', '--prepare'])
    expect(keysOf(settings)).toEqual([prepared, present])
    expect(await rotate(settings)).toMatchObject({ outcome: 'rotated', version: 2 })
    expect(keysOf(settings)).toEqual([prepared])
  })

  it('removes a leftover old key and drafts of the file, without another rotation', async () => {
    const settings = await newSettings('sqlite')
    await save(settings, 0, 2)
    const path = keyFileOf(settings)
    const [present = ''] = keysOf(settings)
    writeRootKeyFile(path, [present, createRootKeyText()])
    writeFileSync(`${path}.draft-${randomUUID()}`, present)
    expect(await rotate(settings)).toMatchObject({ outcome: 'tidied', version: 1 })
    expect(keysOf(settings)).toEqual([present])
    expect(keyFilesOf(settings)).toEqual(['root.key'])
  })

  it("leaves the operator's copies of the old key beside the file", async () => {
    const settings = await newSettings('sqlite')
    await save(settings, 0, 2)
    const [present = ''] = keysOf(settings)
    const copies = [
      'root.key.20260301',
      'root.key.1',
      'root.key.4f1d22ab',
      'root.key.draft-1',
      'root.key.old',
    ]
    for (const copy of copies) writeFileSync(join(dirname(keyFileOf(settings)), copy), present)
    expect(await rotate(settings)).toMatchObject({ outcome: 'rotated', version: 2 })
    expect(keyFilesOf(settings)).toEqual(['root.key', ...copies].toSorted())
  })
})

describe('a server', () => {
  it('starts when a rotation ends between reading the database and reading the key file', async () => {
    const settings = await newSettings('sqlite')
    await save(settings, 0, 2)
    await withSealed(settings, async ({ store }) => {
      let during = {}
      await rotate(settings, ({ at }) => {
        if (at === 'begun') void store.meta.read().then((facts) => Object.assign(during, facts))
      })
      expect(during).toHaveProperty('root_previous_fingerprint')
      const read = async () => {
        const facts = during
        during = await store.meta.read()
        return facts
      }
      const late = { ...store, meta: { ...store.meta, read } }
      expect((await loadKeyring(toConfig(settings), late)).keyring.version).toBe(2)
    })
  })

  it('reads a row again that was resealed between read and unseal', async () => {
    const settings = await newSettings('sqlite')
    await save(settings, 0, 1)
    await withSealed(settings, async (sealed) => {
      const { store } = sealed
      const old = await store.registry.find(subjectOf(sealed, 0))
      await rotate(settings)
      const { keyring } = await loadKeyring(toConfig(settings), store)
      const answers = [old, undefined]
      const find = async (subject: Uint8Array) => answers.shift() ?? store.registry.find(subject)
      const reader = createRegistry({
        table: { ...store.registry, find },
        keyring: () => keyring,
        reloadKeyring: async () => keyring,
      })
      expect((await reader.find('nin', toNumber(0)))?.record.nin_number).toBe(toNumber(0))
    })
  })
})
