import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fillAuditLog } from '../../bench/audit-sample.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { loadConfig } from '../../src/context/config.ts'
import { openSealedStore } from '../../src/context/sealed-store.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { execute } from '../postgres.ts'
import { type Settings, tabbat } from '../process/tabbat.ts'
import { BATCHES_URL } from './batch-faults.ts'
import type { Client } from './client.ts'
import { addFault, countCode, type Told } from './soak-load.ts'

/** The chains of old months, which are archived during the run. */
export const OLD_CHAIN = /^y2024m/
const MONTHS = 12
const ROWS_A_MONTH = 2000
const toMonthText = (month: number) => String(month).padStart(2, '0')

/** Fills the twelve months of 2024 with audit rows. */
export async function fillOldMonths(settings: Settings): Promise<void> {
  const folder = settings.TABBAT_DATA_DIR ?? ''
  mkdirSync(join(folder, 'archives'))
  const { store, keyring } = await openSealedStore(loadConfig(settings, ''))
  const signer = createSigner(keyring['audit-signing'])
  try {
    for (let month = 1; month <= MONTHS; month++) {
      const name = `y2024m${toMonthText(month)}`
      const next = month === MONTHS ? 'y2025m01' : `y2024m${toMonthText(month + 1)}`
      if (store.database.dialect === 'postgres')
        await store.database.prepare('SELECT create_audit_month($1, $2)').run(name, next)
      const chain = `${name}-soak-1`
      await fillAuditLog(store, { rows: ROWS_A_MONTH, signer, folder, chains: [chain] })
      await store.audit.release(chain, 'bench', Date.now() - 30 * DAY_MS)
    }
  } finally {
    await store.close()
  }
}

type Chores = {
  /** Writes a backup, and archives the next old month. */
  readonly turn: () => Promise<void>
  readonly backup: string
  readonly done: { backups: number; archives: number; longestBackupMs: number }
}

export function createChores(settings: Settings, told: Told): Chores {
  const folder = settings.TABBAT_DATA_DIR ?? ''
  const backup = join(folder, 'soak.backup')
  const done = { backups: 0, archives: 0, longestBackupMs: 0 }
  const run = async (...args: string[]): Promise<boolean> => {
    const { code, stdout, stderr } = await tabbat(settings, ...args)
    if (code !== 0) addFault(told, `tabbat ${args[0]} ${args[1]}: ${stdout}${stderr}`)
    return code === 0
  }
  return {
    backup,
    done,
    turn: async () => {
      const startedAt = performance.now()
      if (await run('backup', backup, '--force')) done.backups += 1
      done.longestBackupMs = Math.max(done.longestBackupMs, Math.round(performance.now() - startedAt))
      const month = done.archives + 1
      if (month >= MONTHS) return
      const file = join(folder, 'archives', `2024-${toMonthText(month)}.audit.zst`)
      const before = `2024-${toMonthText(month + 1)}-01`
      if (await run('audit', 'archive', '--before', before, '--to', file)) done.archives += 1
    },
  }
}

const BATCH_ROWS = 60

/** Sends a batch, each tenth row of which is refused. Resolves to its id. */
export async function sendBatch(client: Client, url: string, key: string, index: number, told: Told) {
  const rows = Array.from({ length: BATCH_ROWS }, (_each, row) => {
    const nin = `7${String(index).padStart(4, '0')}${String(row).padStart(6, '0')}`
    const phone = `0${toPhoneCoreOf(nin)}`
    return { operation: 'verify_nin', reference: nin, ...(row % 10 === 0 ? { nin: '1' } : { nin, phone }) }
  })
  const reply = await client.post(`${url}${BATCHES_URL}`, rows, { authorization: `Bearer ${key}` })
  const { code = '', data } = JSON.parse(reply.body) as { code?: string; data?: { id?: string } }
  countCode(told, `batch ${reply.status} ${code}`.trim())
  return data?.id
}

/** Waits until the batch has ended, and counts its results. */
export async function checkBatch(client: Client, url: string, key: string, id: string, told: Told) {
  const headers = { authorization: `Bearer ${key}` }
  const path = `${url}${BATCHES_URL}/${id}`
  const view = await client.get(path, headers)
  countCode(told, `look at a batch: ${view.status}`)
  const { data } = JSON.parse(view.body) as { data?: { ended_at: string | null } }
  // Refused for the moment: it is asked again.
  if (view.status !== 200 || !data || data.ended_at === null) return false
  const { status, body } = await client.get(`${path}/results`, headers)
  if (status !== 200) return false
  const lines = body.split('\n').filter((line) => line !== '')
  if (lines.length !== BATCH_ROWS) addFault(told, `batch ${id} has ${lines.length} results`)
  return true
}

export type Sizes = { readonly walBytes: number; readonly databaseBytes: number }

export async function readSizes({ TABBAT_DATA_DIR = '', TABBAT_DATABASE_URL }: Settings): Promise<Sizes> {
  if (TABBAT_DATABASE_URL === undefined) {
    const size = (name: string) => statSync(join(TABBAT_DATA_DIR, name), { throwIfNoEntry: false })?.size ?? 0
    return { walBytes: size('tabbat.db-wal'), databaseBytes: size('tabbat.db') }
  }
  const [row] = await execute(
    TABBAT_DATABASE_URL,
    'SELECT (SELECT SUM(size) FROM pg_ls_waldir()) AS wal, pg_database_size(current_database()) AS database',
  )
  return { walBytes: Number(row?.wal), databaseBytes: Number(row?.database) }
}
