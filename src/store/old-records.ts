import type { Database } from './database.ts'
import { REGISTRY_LOCK } from './save-records.ts'
import type { SealedRecord } from './sealed-record.ts'

/** Records of the registry that no import has contained since a time. */
export type OldRecords = {
  readonly countOld: (before: number) => Promise<number>
  /** Erases some of them with their pictures. */
  readonly eraseOld: (before: number) => Promise<{ readonly records: number; readonly pictures: number }>
}

/** Few enough that no request waits noticeably. */
const RECORDS_PER_STEP = 500

/** Written at most once a day: an import of unchanged records must stay fast. */
const REFRESH_EVERY_MS = 24 * 60 * 60 * 1000

/** The last import may be up to that much later than updated_at. Decoys belong to no person and are not imported. */
const IS_OLD = `updated_at < CAST($1 AS BIGINT) - ${REFRESH_EVERY_MS} AND kind <> 'decoy'`
/** The same ones for both statements. */
const SOME_OLD = `SELECT subject FROM registry WHERE ${IS_OLD} ORDER BY updated_at, subject LIMIT ${RECORDS_PER_STEP}`

export function createOldRecords(database: Database): OldRecords {
  const count = database.prepare(`SELECT COUNT(*) AS records FROM registry WHERE ${IS_OLD}`)
  return {
    countOld: async (before) => Number((await count.get(before))?.records ?? 0),
    eraseOld: (before) => database.transaction((inside) => eraseInside(inside, before)),
  }
}

async function eraseInside(inside: Database, before: number) {
  await inside.lock(REGISTRY_LOCK)
  const pictures = await inside.prepare(`DELETE FROM media WHERE subject IN (${SOME_OLD})`).run(before)
  const records = await inside.prepare(`DELETE FROM registry WHERE subject IN (${SOME_OLD})`).run(before)
  return { records, pictures }
}

/** Notes that an import contained these records, for those that it did not change. */
export async function refreshRecords(
  inside: Database,
  records: readonly SealedRecord[],
  at: number,
): Promise<void> {
  const before = at - REFRESH_EVERY_MS
  if (inside.dialect === 'postgres')
    await inside
      .prepare(
        `UPDATE registry SET updated_at = $3 WHERE updated_at < $4 AND subject IN
           (SELECT substring($1::bytea FROM 32 * place + 1 FOR 32) FROM generate_series(0, $2::int - 1) AS place)`,
      )
      .run(Buffer.concat(records.map(({ subject }) => subject)), records.length, at, before)
  else
    await inside
      .prepare('UPDATE registry SET updated_at = $2 WHERE subject = $1 AND updated_at < $3')
      .runAll(records.values().map(({ subject }) => [subject, at, before]))
}
