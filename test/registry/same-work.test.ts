import { describe, expect, it } from 'vitest'
import type { SealedStore } from '../../src/context/sealed-store.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { toBvnRecord } from '../../src/sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { createReuse } from '../../src/verification/reuse.ts'
import { ENGINES, newSettings, withSealed } from './sealed-registry.ts'

const KNOWN = '73914650281'
const UNKNOWN = '60482917353'
const PHONE = '8067319245'

/** The real registry. It counts what it reads and opens: a time would tell only on a quiet machine. */
async function openCounting({ store, keyring }: SealedStore) {
  const work = { reads: 0, found: 0, opened: 0 }
  const counting = {
    ...keyring,
    sealing: (version: number) => {
      work.opened += 1
      return keyring.sealing(version)
    },
    get reuse() {
      work.opened += 1
      return keyring.reuse
    },
  }
  const table = {
    ...store.registry,
    find: async (subject: Uint8Array) => {
      const row = await store.registry.find(subject)
      work.reads += 1
      if (row) work.found += 1
      return row
    },
  }
  const registry = createRegistry({ table, keyring: () => counting, reloadKeyring: async () => counting })
  await registry.insertDecoys()
  const records = [
    sealEntry(keyring, 'nin', KNOWN, { record: toNinRecord(KNOWN, PHONE), mediaId: null }),
    sealEntry(keyring, 'bvn', KNOWN, { record: toBvnRecord(KNOWN, PHONE), mediaId: null }),
  ]
  await store.registry.save({ records, media: [], at: Date.now() })
  const count = async <T>(ask: () => T | Promise<T>) => {
    Object.assign(work, { reads: 0, found: 0, opened: 0 })
    const entry = await ask()
    return { ...work, isKnown: entry !== undefined }
  }
  return { store, registry, counting, count }
}

describe.each(ENGINES)('a number without a record on %s', (engine) => {
  it.each(['nin', 'bvn'] as const)('costs the registry as much as a known one: a %s', async (kind) => {
    await withSealed(await newSettings(engine), async (sealed) => {
      const { store, registry, count } = await openCounting(sealed)
      const same = { reads: 2, found: 1, opened: 1 }
      expect(await count(() => registry.find(kind, KNOWN))).toEqual({ ...same, isKnown: true })
      expect(await count(() => registry.find(kind, UNKNOWN))).toEqual({ ...same, isKnown: false })

      // In a verification, the rows are read beside the stored response.
      const look = async (number: string) => {
        const record = registry.toQuestion(kind, number)
        const found = await store.lookups.find({ record, answer: undefined })
        const rows = [found.record.row, found.record.other].filter((row) => row !== undefined)
        const { opened, isKnown } = await count(() => registry.open(kind, number, found.record))
        return { rows: rows.length, opened, isKnown }
      }
      expect(await look(KNOWN)).toEqual({ rows: 1, opened: 1, isKnown: true })
      expect(await look(UNKNOWN)).toEqual({ rows: 1, opened: 1, isKnown: false })
    })
  })

  it('costs the results that are kept for reuse as much as a known one', async () => {
    await withSealed(await newSettings(engine), async (sealed) => {
      const { counting, count } = await openCounting(sealed)
      let kept: Uint8Array | undefined
      const table = { find: async () => kept } as never
      const reuse = createReuse(table, counting, 3_600_000)
      expect(await count(() => reuse.find('nin', UNKNOWN))).toMatchObject({ opened: 1, isKnown: false })
      const result = { record: toNinRecord(KNOWN, PHONE), source: 'dojah' }
      kept = reuse.toKept('nin', KNOWN, result).sealed
      expect(await count(() => reuse.find('nin', KNOWN))).toMatchObject({ opened: 1, isKnown: true })
    })
  })
})
