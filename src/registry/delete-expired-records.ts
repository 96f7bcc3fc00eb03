import { setTimeout as pause } from 'node:timers/promises'
import type { AuditEntry } from '../audit/row.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import { withProcessLock } from '../database/process-lock.ts'
import type { RegistryTable } from './registry-table.ts'

type ExpireDeps = {
  readonly store: Pick<OpenDatabase, 'database' | 'place'> & {
    readonly registry: Pick<RegistryTable, 'countOld' | 'eraseOld'>
  }
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
  readonly isStopped?: () => boolean
}

/** Between two steps, for the requests that are waiting. */
const PAUSE_MS = 20

/**
 * Records of one audit row. All that are due may be millions: PostgreSQL would need longer than a statement may take to count them, and
 * SQLite would block the event loop.
 */
const RECORDS_PER_ROW = 5000

export const EXPIRY_LOCK = {
  name: 'registry:expiry',
  file: 'expiry',
  refusal: 'Another process is erasing old records.',
}

/**
 * Erases the records that no import has contained since a time, in small steps, and returns how many. An audit row with their
 * number comes before each portion. It names no person.
 */
export function deleteExpiredRecords(
  before: number,
  { store, audit, isStopped = () => false }: ExpireDeps,
): Promise<number> {
  return withProcessLock(store, EXPIRY_LOCK, async () => {
    const since = new Date(before).toISOString()
    let erased = 0
    while (!isStopped()) {
      const due = await store.registry.countOld(before, RECORDS_PER_ROW)
      if (due === 0) break
      const detail = `${due} record${due === 1 ? '' : 's'} not refreshed since ${since}; by TABBAT_RECORDS_KEEP`
      await audit.record([{ phase: 'records_expired', outcome: 'ok', detail }])
      erased += await erasePortion(before, due, store.registry, isStopped)
    }
    return erased
  })
}

async function erasePortion(
  before: number,
  due: number,
  table: Pick<RegistryTable, 'eraseOld'>,
  isStopped: () => boolean,
): Promise<number> {
  let erased = 0
  while (erased < due && !isStopped()) {
    const { records } = await table.eraseOld(before)
    erased += records
    if (records === 0) break
    await pause(PAUSE_MS)
  }
  return erased
}
