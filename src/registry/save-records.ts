import { setFlagsFromString } from 'node:v8'
import type { Database, Value } from '../database/database.ts'
import { avoidTableScans, refreshRecords, toRowIds } from './refresh-records.ts'
import { ON_CONFLICT, saveWithCopy } from './save-with-copy.ts'
import type { SealedRecord } from './sealed-record.ts'

/** Taken by every transaction that changes sealed rows: two that change the same rows in another order would deadlock. */
export const REGISTRY_LOCK = 'registry'

/**
 * Inserts or updates many records, and notes of those that are unchanged that an import contained them. SQLite and PostgreSQL
 * need different statements to be fast. Returns how many changed.
 */
export async function saveRecords(
  tx: Database,
  records: readonly SealedRecord[],
  at: number,
): Promise<number> {
  if (tx.dialect === 'postgres') return saveWithCopy(tx, records, at)
  const changed = await saveInGroups(tx, records, at)
  if (changed < records.length) await refreshRecords(tx, records, at)
  return changed
}

/**
 * For a command that writes millions of rows. SQLite: checkpoint the write-ahead log every 128 MiB instead of 32, and use a
 * smaller page cache. PostgreSQL: the driver makes much garbage, for which V8 would grow its young generation by 120 MB; the
 * flag keeps it small.
 */
export async function prepareForBulk(database: Database): Promise<void> {
  setFlagsFromString('--semi-space-growth-factor=1')
  // For threads that start later: an import of 100 000 NDJSON rows peaked at 234 MB, with the default of 1 MB at 287 MB.
  setFlagsFromString('--min-semi-space-size=4')
  if (database.dialect === 'postgres') return
  await database.prepare('PRAGMA wal_autocheckpoint = 32768').get()
  await database.prepare('PRAGMA cache_size = -24576').get()
}

/** Rows in one statement of SQLite: calling it costs more than a row. */
const ROWS_TOGETHER = 20

async function saveInGroups(tx: Database, records: readonly SealedRecord[], at: number): Promise<number> {
  const whole = records.length - (records.length % ROWS_TOGETHER)
  const groups = function* () {
    for (let from = 0; from < whole; from += ROWS_TOGETHER)
      yield records.slice(from, from + ROWS_TOGETHER).flatMap((record) => toValues(record, at))
  }
  const changed = await tx.prepare(toInsert(ROWS_TOGETHER)).runAll(groups())
  const rest = records
    .slice(whole)
    .values()
    .map((record) => toValues(record, at))
  return changed + (await tx.prepare(toInsert(1)).runAll(rest))
}

const toValues = ({ subject, kind, keyVersion, digest, sealed }: SealedRecord, at: number): Value[] => [
  subject,
  kind,
  keyVersion,
  digest,
  sealed,
  at,
]

function toInsert(rows: number): string {
  const columns = ['subject', 'kind', 'key_version', 'digest', 'sealed', 'updated_at']
  const row = (_each: unknown, index: number) =>
    `(${columns.map((_column, column) => `$${index * columns.length + column + 1}`).join(', ')})`
  const values = Array.from({ length: rows }, row).join(', ')
  return `INSERT INTO registry (${columns.join(', ')}) VALUES ${values} ${ON_CONFLICT}`
}

/** Deletes the pictures of these people. Returns early for a registry without pictures. */
export async function dropPictures(tx: Database, records: readonly SealedRecord[]): Promise<void> {
  if (!(await tx.prepare('SELECT 1 AS found FROM media LIMIT 1').get())) return
  if (tx.dialect === 'postgres' && records.length > 1) {
    await avoidTableScans(tx)
    const subjects = Buffer.concat(records.map(({ subject }) => subject))
    await tx.prepare(`DELETE FROM media WHERE ctid = ANY(${toRowIds('media')})`).run(subjects, records.length)
    return
  }
  await tx
    .prepare('DELETE FROM media WHERE subject = $1')
    .runAll(records.values().map(({ subject }) => [subject]))
}
