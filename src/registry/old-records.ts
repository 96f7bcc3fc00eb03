import type { Database } from '../database/database.ts'
import { REFRESH_EVERY_MS } from './refresh-records.ts'
import { REGISTRY_LOCK } from './save-records.ts'

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
