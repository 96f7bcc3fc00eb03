import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { openSealedStore, type SealedStore } from '../../src/context/sealed-store.ts'
import { createBlankRecord } from '../../src/contract/record.ts'
import { loadKeyring } from '../../src/database/load-keyring.ts'
import type { Entry } from '../../src/registry/record-codec.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import { type RotationStep, rotateRoot } from '../../src/registry/rotate.ts'
import { sealEntry, sealMedia, toSubject } from '../../src/registry/sealed-entry.ts'
import { toErasureSubject } from '../people/erasure-subject.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import type { Settings } from '../process/tabbat.ts'

export const ENGINES = hasPostgres() ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const)
export type Engine = (typeof ENGINES)[number]

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** The settings of a new database of this kind, with a data folder of its own. */
export async function newSettings(engine: Engine): Promise<Settings> {
  const settings = { TABBAT_DATA_DIR: mkdtempSync(join(tmpdir(), 'tabbat-registry-')) }
  folders.push(settings.TABBAT_DATA_DIR)
  return engine === 'sqlite' ? settings : { ...settings, TABBAT_DATABASE_URL: await createTestDatabase() }
}

export const toConfig = (settings: Settings) => loadConfig(settings, '')

/** Opens the store for some work, as a separate process would. */
export async function withSealed<T>(
  settings: Settings,
  work: (sealed: SealedStore) => Promise<T>,
): Promise<T> {
  const sealed = await openSealedStore(toConfig(settings))
  try {
    return await work(sealed)
  } finally {
    await sealed.store.close()
  }
}

/** Erases a record without an audit row. */
export const removeRecord = ({ store }: Pick<SealedStore, 'store'>, subject: Uint8Array) =>
  store.erasure.erase(toErasureSubject(subject), Date.now())

export const toNumber = (index: number) => String(70_000_000_000 + index)

export function toEntry(number: string, mediaId: string | null = null): Entry<'nin'> {
  const blank = createBlankRecord('nin')
  return {
    mediaId,
    record: { ...blank, nin_number: number, personal_info: { ...blank.personal_info, first_name: 'Ada' } },
  }
}

/** Records as an import would save them; the first ones have pictures. */
export function toBatch(keyring: SealedStore['keyring'], first: number, count: number, pictures = 0) {
  const numbers = Array.from({ length: count }, (_none, index) => toNumber(first + index))
  const made = numbers.map((number, index) => {
    const id = index < pictures ? randomBytes(16) : undefined
    const record = sealEntry(keyring, 'nin', number, toEntry(number, id?.toString('hex') ?? null))
    const media = id && sealMedia(keyring, id, record.subject, Buffer.from(`picture of ${number}`))
    return { record, media }
  })
  return {
    records: made.map(({ record }) => record),
    media: made.flatMap(({ media }) => media ?? []),
    at: 1,
  }
}

export const save = (settings: Settings, first: number, count: number, pictures = 0) =>
  withSealed(settings, ({ store, keyring }) => store.registry.save(toBatch(keyring, first, count, pictures)))

export const rotate = (settings: Settings, onStep?: (step: RotationStep) => void) =>
  withSealed(settings, (sealed) =>
    rotateRoot(toConfig(settings), sealed, {
      rowsAtOnce: { registry: 10, media: 2 },
      ...(onStep && { onStep }),
    }),
  )

export const keyFileOf = (settings: Settings) => join(settings.TABBAT_DATA_DIR ?? '', 'root.key')
export const keysOf = (settings: Settings) => readFileSync(keyFileOf(settings), 'utf8').trim().split('\n')

/** A registry reader as in a server: it loads its keys once, and reloads them when needed. */
export function toReader(settings: Settings, { store, keyring }: SealedStore) {
  let keys = keyring
  return createRegistry({
    table: store.registry,
    keyring: () => keys,
    reloadKeyring: async () => {
      keys = (await loadKeyring(toConfig(settings), store)).keyring
      return keys
    },
  })
}

/** How many of these records can be found, and how many pictures can be opened. */
export async function countReadable(
  reader: ReturnType<typeof toReader>,
  count: number,
): Promise<{ records: number; pictures: number }> {
  const readable = { records: 0, pictures: 0 }
  for (let index = 0; index < count; index++) {
    const number = toNumber(index)
    const entry = await reader.find('nin', number)
    if (entry?.record.nin_number === number) readable.records++
    if (!entry?.mediaId) continue
    const picture = await reader.findPicture(Buffer.from(entry.mediaId, 'hex'))
    if (picture?.bytes.toString() === `picture of ${number}`) readable.pictures++
  }
  return readable
}

export const subjectOf = ({ keyring }: SealedStore, index: number) =>
  toSubject(keyring, 'nin', toNumber(index))
