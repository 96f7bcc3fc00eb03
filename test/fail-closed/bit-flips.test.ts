import { closeSync, cpSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { openSealedStore, type SealedStore } from '../../src/context/sealed-store.ts'
import { toFatal } from '../../src/database/failure.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import { runScrubPass } from '../../src/registry/scrub-pass.ts'
import { openScrubTable } from '../../src/registry/scrub-table.ts'
import { createPlace, PEOPLE, toNin } from '../battery/place.ts'
import { newDataDir, type Settings } from '../process/tabbat.ts'

const FLIPS = 80
const SEED = 20_261_115

/** The same numbers in every run (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function flipBit(path: string, offset: number, bit: number): void {
  const file = openSync(path, 'r+')
  const byte = Buffer.alloc(1)
  readSync(file, byte, 0, 1, offset)
  byte[0] = (byte[0] ?? 0) ^ (1 << bit)
  writeSync(file, byte, 0, 1, offset)
  closeSync(file)
}

/** Opens the database as a start after a crash does, scrubs it, and reads every record. Returns the outcome. */
async function useDatabase(settings: Settings): Promise<string> {
  const config = loadConfig(settings, '')
  let sealed: SealedStore
  try {
    sealed = await openSealedStore(config)
  } catch {
    return 'refused at the start'
  }
  const { store, keyring } = sealed
  try {
    const { dataDir, databaseUrl } = config
    const table = await openScrubTable({ dataDir, databaseUrl })
    const keys = new Map([[keyring.version, keyring.sealing(keyring.version) as never]])
    await runScrubPass(table, { keys, duty: 1, checkPages: true }).finally(table.close)
    const reload = async () => keyring
    const registry = createRegistry({ table: store.registry, keyring: () => keyring, reloadKeyring: reload })
    for (let index = 0; index < PEOPLE; index++) {
      const found = await registry.find('nin', toNin(index))
      if (!found) return `person ${index} is not found`
      if (found.record.nin_number !== toNin(index)) return `person ${index} is another person`
    }
    return 'right'
  } catch (error) {
    return toFatal(error) ? 'damage' : `failed by ${String(error)}`
  } finally {
    await store.close().catch(() => {})
  }
}

it('one flipped bit never hides a record or returns another one: it is harmless or detected', async () => {
  const { settings } = await createPlace()
  const folder = settings.TABBAT_DATA_DIR ?? ''
  const random = createRandom(SEED)
  const outcomes: string[] = []
  for (let flip = 0; flip < FLIPS; flip++) {
    const copy = newDataDir()
    cpSync(folder, copy, { recursive: true })
    const path = join(copy, 'tabbat.db')
    const offset = Math.floor(random() * statSync(path).size)
    flipBit(path, offset, Math.floor(random() * 8))
    outcomes.push(await useDatabase({ ...settings, TABBAT_DATA_DIR: copy }))
    rmSync(copy, { recursive: true })
  }
  rmSync(folder, { recursive: true })
  expect(outcomes.filter((each) => !['right', 'damage', 'refused at the start'].includes(each))).toEqual([])
  // Some flips must have been detected, or the test tried nothing.
  expect(outcomes).toContain('damage')
})
