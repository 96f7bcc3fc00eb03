import { setTimeout as pause } from 'node:timers/promises'
import type { AuditEntry } from '../audit/row.ts'
import type { Database } from '../database/database.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import { withProcessLock } from '../database/process-lock.ts'
import { REFRESH_EVERY_MS, REGISTRY_LOCK } from './save-records.ts'

type ExpireDeps = {
  readonly store: Pick<OpenDatabase, 'database' | 'place'> & { readonly registry: OldRecords }
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
export function expireRecords(
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

/** Records of the registry that no import has contained since a time. */
export type OldRecords = {
  readonly countOld: (before: number) => Promise<number>
  /** Erases some of them with their pictures. */
  readonly eraseOld: (before: number) => Promise<{ readonly records: number; readonly pictures: number }>
}

/** Few enough that no request waits noticeably. */
const RECORDS_PER_STEP = 500

/** The last import may be up to that much later than updated_at. Decoys belong to no person and are not imported. */
const IS_OLD = `updated_at < CAST($1 AS BIGINT) - ${REFRESH_EVERY_MS} AND kind <> 'decoy'`
/** The same ones for both statements. */
const SOME_OLD = `SELECT subject FROM registry WHERE ${IS_OLD} ORDER BY updated_at, subject LIMIT ${RECORDS_PER_STEP}`

export function createOldRecords(database: Database): OldRecords {
  const count = database.prepare(`SELECT COUNT(*) AS records FROM registry WHERE ${IS_OLD}`)
  return {
    countOld: async (before) => Number((await count.get(before))?.records ?? 0),
    eraseOld: (before) => database.transaction((tx) => eraseInTx(tx, before)),
  }
}

async function eraseInTx(tx: Database, before: number) {
  await tx.lock(REGISTRY_LOCK)
  const pictures = await tx.prepare(`DELETE FROM media WHERE subject IN (${SOME_OLD})`).run(before)
  const records = await tx.prepare(`DELETE FROM registry WHERE subject IN (${SOME_OLD})`).run(before)
  return { records, pictures }
}
