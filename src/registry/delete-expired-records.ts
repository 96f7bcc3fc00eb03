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

export const EXPIRY_LOCK = {
  name: 'registry:expiry',
  file: 'expiry',
  refusal: 'Another process is erasing old records.',
}

/**
 * Erases the records that no import has contained since a time, in small steps, and returns how many. The audit row with their
 * number comes first. It names no person.
 */
export function deleteExpiredRecords(
  before: number,
  { store, audit, isStopped = () => false }: ExpireDeps,
): Promise<number> {
  return withProcessLock(store, EXPIRY_LOCK, async () => {
    const due = await store.registry.countOld(before)
    if (due === 0) return 0
    const since = new Date(before).toISOString()
    const detail = `${due} record${due === 1 ? '' : 's'} not refreshed since ${since}; by TABBAT_RECORDS_KEEP`
    await audit.record([{ phase: 'records_expired', outcome: 'ok', detail }])
    let erased = 0
    while (!isStopped()) {
      const { records } = await store.registry.eraseOld(before)
      erased += records
      if (records === 0) break
      await pause(PAUSE_MS)
    }
    return erased
  })
}
