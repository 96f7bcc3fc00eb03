import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context } from '../../src/context/context.ts'
import type { Settings } from './cluster.ts'
import { readSqlite, type Stored } from './facts.ts'
import { createKeyedHashes, type KeyedHashes } from './keyed-hash.ts'
import { phoneOf, REGISTERED, surnameOf, toRegisteredNumber } from './people.ts'
import { product } from './product.ts'
import { RECEIVER } from './receiver.ts'
import { VENDOR_SETTINGS } from './vendors.ts'
import { beginWorld, processOf } from './world.ts'

/** Where the rows are. */
export type Engine = 'sqlite' | 'postgres'

/** A data folder and a database with keys and an endpoint, which every run copies. */
export type Template = {
  readonly engine: Engine
  readonly folder: string
  readonly keys: ReadonlyMap<string, { readonly id: string; readonly text: string }>
  readonly secret: string
  readonly hashes: KeyedHashes
  readonly copy: (to: string) => void | Promise<void>
  /** Of the process at one place. */
  readonly toSettings: (dataDir: string, place: number) => Settings
  /** What is in the copy at the end of a run. */
  readonly read: (dataDir: string) => Stored | Promise<Stored>
}

export const SQLITE_FILE = 'tabbat.db'
export const ROOT_KEY = 'root.key'

export const CALLERS = ['shop1', 'shop2', 'shop3', 'shop4'] as const
/** In naira, enough for every run unless the run draws a cap. */
const MANY = 1_000_000

export const SETTINGS: Readonly<Record<string, string>> = {
  ...VENDOR_SETTINGS,
  TABBAT_NIN_SOURCES: 'dojah,blusalt',
  TABBAT_RATE_LIMIT: 'off',
  TABBAT_SCRUB: 'off',
  TABBAT_PENDING_RETRY: '1s',
  TABBAT_PENDING_RETRY_MAX: '5s',
  TABBAT_PENDING_LIMIT: '90s',
}

/** In memory where the system has a file system for that. */
export function toRoot(): string {
  try {
    if (statSync('/dev/shm').isDirectory()) return mkdtempSync('/dev/shm/tabbat-simulation-')
  } catch {}
  return mkdtempSync(join(tmpdir(), 'tabbat-simulation-'))
}

/** The settings of the database come with another engine. */
export async function createTemplate(
  root: string,
  name = 'template',
  database: Settings = {},
): Promise<Template> {
  const folder = join(root, name)
  mkdirSync(folder, { mode: 0o700 })
  const world = beginWorld(0)
  const process = world.createProcess('template')
  const { createContext, loadConfig, createKey, createEndpoint, SCOPES } = product()
  const made = await world.run(
    processOf.run(process, async () => {
      const context = await createContext(
        loadConfig({ ...SETTINGS, ...database, TABBAT_DATA_DIR: folder, TABBAT_LOG_LEVEL: 'silent' }, ''),
      )
      const desk = { ...context, keyring: context.keyring() }
      const keys = new Map<string, { id: string; text: string }>()
      for (const name of CALLERS) {
        const options = {
          name,
          mode: 'live' as const,
          scopes: SCOPES,
          expiresAt: undefined,
          allowedIps: undefined,
          subjectsPerDay: MANY,
        }
        const { text, row } = await createKey(desk, options)
        keys.set(name, { id: row.id, text })
      }
      await fillRegistry(context)
      const events = [
        'verification.completed',
        'verification.expired',
        'batch.completed',
        'source.down',
        'source.up',
      ]
      const request = { name: 'receiver', url: `${RECEIVER}/hooks`, events, keys: [] }
      const { secret } = await createEndpoint({ ...desk, allowPrivate: false }, request)
      await context.close()
      return { keys, secret }
    }),
  )
  world.kill(process)
  return {
    engine: 'sqlite',
    folder,
    ...made,
    hashes: createKeyedHashes(readFileSync(join(folder, ROOT_KEY), 'utf8')),
    copy: (to) => cpSync(folder, to, { recursive: true }),
    toSettings: (dataDir) => ({ TABBAT_DATA_DIR: dataDir }),
    read: (dataDir) => readSqlite(join(dataDir, SQLITE_FILE)),
  }
}

async function fillRegistry({ store, keyring }: Context): Promise<void> {
  const { sealEntry, completeNin } = product()
  const records = Array.from({ length: REGISTERED }, (_each, index) => {
    const number = toRegisteredNumber(index)
    const info = { first_name: 'Amaka', last_name: surnameOf(number), phone_number: phoneOf(number) }
    const record = completeNin({ nin_number: number, personal_info: info })
    return sealEntry(keyring(), 'nin', number, { record, mediaId: null })
  })
  await store.registry.save({ at: Date.now(), media: [], records })
}

export const removeRoot = (root: string) => rmSync(root, { recursive: true, force: true })
