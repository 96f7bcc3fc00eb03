import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '../../src/context/config.ts'
import type { Context } from '../../src/context/context.ts'
import { openSealedStore } from '../../src/context/sealed-store.ts'
import { SCOPES } from '../../src/contract/scope.ts'
import { createKey } from '../../src/keys/manage.ts'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { createContext } from '../../src/server/create-context.ts'
import { toBvnRecord } from '../../src/sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { newDataDir, type Settings, tabbat } from '../process/tabbat.ts'
import type { Row } from './ledger.ts'

/** A database with people in the registry and a key of each mode. */
export type Place = {
  readonly settings: Settings
  readonly keys: { readonly test: string; readonly live: string }
}

export const CORE = '8031234567'
export const PHONE = `0${CORE}`
/** Number of people in the registry, each with a NIN and a BVN. */
export const PEOPLE = 64
export const toBvn = (index: number) => String(51_000_000_000 + index)
export const toNin = (index: number) => String(41_000_000_000 + index)

const MANY = 1_000_000_000

export async function createPlace(extra: Settings = {}): Promise<Place> {
  const settings = {
    TABBAT_DATA_DIR: newDataDir(),
    TABBAT_LOG_LEVEL: 'silent',
    TABBAT_RATE_LIMIT: 'off',
    ...extra,
  }
  const context = await createContext(loadConfig(settings, ''))
  try {
    await fillRegistry(context)
    const [test, live] = [await newKey(context, 'test'), await newKey(context, 'live')]
    return { settings, keys: { test, live } }
  } finally {
    await context.close()
  }
}

export async function fillRegistry({ store, keyring }: Context): Promise<void> {
  const keys = keyring()
  const records = Array.from({ length: PEOPLE }, (_each, index) => [
    sealEntry(keys, 'nin', toNin(index), { record: toNinRecord(toNin(index), CORE), mediaId: null }),
    sealEntry(keys, 'bvn', toBvn(index), { record: toBvnRecord(toBvn(index), CORE), mediaId: null }),
  ])
  await store.registry.save({ at: Date.now(), media: [], records: records.flat() })
}

export async function newKey(context: Context, mode: 'test' | 'live', name = 'battery'): Promise<string> {
  const rights = { scopes: SCOPES, expiresAt: undefined, allowedIps: undefined, subjectsPerDay: MANY }
  const desk = { ...context, keyring: context.keyring() }
  return (await createKey(desk, { name, mode, ...rights })).text
}

/** Every row of the audit log, in the order of chains and rows. */
export async function readAudit({ settings }: Pick<Place, 'settings'>): Promise<Row[]> {
  const { store } = await openSealedStore(loadConfig(settings, ''))
  try {
    return await store.database.prepare('SELECT * FROM audit ORDER BY chain, sequence').all()
  } finally {
    await store.close()
  }
}

/** The result of `tabbat audit verify` with the checkpoints beside the database. */
export async function findAuditFaults({ settings }: Pick<Place, 'settings'>): Promise<string[]> {
  const checkpoints = join(settings.TABBAT_DATA_DIR ?? '', 'checkpoints.log')
  const { code, stdout, stderr } = await tabbat(
    settings,
    'audit',
    'verify',
    '--checkpoints',
    checkpoints,
    '--json',
  )
  return code === 0 ? [] : [`tabbat audit verify: ${stdout}${stderr}`]
}

/** Compares the statistics, which are written in the commit of the rows, with the outcomes in the log. */
export async function findCountFaults(
  { settings }: Pick<Place, 'settings'>,
  rows: readonly Row[],
): Promise<string[]> {
  const { store } = await openSealedStore(loadConfig(settings, ''))
  try {
    const there = rows.filter(({ phase }) => phase === 'outcome').length
    const counted = (await store.statistics.outcomes({ span: 'day', from: '', mode: null })).reduce(
      (sum, { count }) => sum + count,
      0,
    )
    return counted === there ? [] : [`the statistics count ${counted} outcomes, the audit log has ${there}`]
  } finally {
    await store.close()
  }
}

/** Removes the data folder, unless there are faults to examine. */
export function leavePlace({ settings }: Pick<Place, 'settings'>, faults: string[]): void {
  const folder = settings.TABBAT_DATA_DIR ?? ''
  if (faults.length === 0) rmSync(folder, { recursive: true })
  else faults.push(`the data folder is kept: ${folder}`)
}

/** Expires all leases of crashed processes. */
export async function endLeases({ settings }: Pick<Place, 'settings'>): Promise<void> {
  const { store } = await openSealedStore(loadConfig(settings, ''))
  await store.database.prepare('UPDATE idempotency SET lease_until = 1').run()
  await store.close()
}
