import { setFlagsFromString } from 'node:v8'
import { COPY, encodeCopy } from './copy-records.ts'
import type { Database, Value } from './database.ts'
import type { SealedRecord } from './sealed-record.ts'

/** Taken by every transaction that changes sealed rows: two that change the same rows in another order would deadlock. */
export const REGISTRY_LOCK = 'registry'

/** Inserts or updates many records. SQLite and PostgreSQL need different statements to be fast. Returns how many changed. */
export function saveRecords(inside: Database, records: readonly SealedRecord[], at: number): Promise<number> {
  return inside.dialect === 'postgres'
    ? saveManyAtOnce(inside, records, at)
    : saveInGroups(inside, records, at)
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

const ON_CONFLICT = `ON CONFLICT (subject) DO UPDATE
  SET key_version = excluded.key_version, digest = excluded.digest, sealed = excluded.sealed, updated_at = excluded.updated_at
  WHERE registry.digest <> excluded.digest`

/** Rows in one statement of SQLite: calling it costs more than a row. */
const ROWS_TOGETHER = 20

async function saveInGroups(inside: Database, records: readonly SealedRecord[], at: number): Promise<number> {
  const whole = records.length - (records.length % ROWS_TOGETHER)
  const groups = function* () {
    for (let from = 0; from < whole; from += ROWS_TOGETHER)
      yield records.slice(from, from + ROWS_TOGETHER).flatMap((record) => toValues(record, at))
  }
  const changed = await inside.prepare(toInsert(ROWS_TOGETHER)).runAll(groups())
  const rest = records
    .slice(whole)
    .values()
    .map((record) => toValues(record, at))
  return changed + (await inside.prepare(toInsert(1)).runAll(rest))
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

/** Rows in one statement: more is no faster and takes more memory. */
const ROWS_AT_ONCE = 1000
/** Fewer rows are not worth a COPY. */
const COPY_FROM_ROWS = 100

/** New records are copied in, which costs half of inserting them. The registry is locked, so no other process adds them. */
async function saveManyAtOnce(
  inside: Database,
  records: readonly SealedRecord[],
  at: number,
): Promise<number> {
  const known = records.length < COPY_FROM_ROWS ? undefined : await findKnown(inside, records)
  const fresh = known ? records.filter((_record, index) => !known.has(index)) : []
  if (fresh.length > 0) await inside.copyIn?.(COPY, encodeCopy(fresh, at))
  const others = known ? records.filter((_record, index) => known.has(index)) : records
  let changed = fresh.length
  for (let from = 0; from < others.length; from += ROWS_AT_ONCE)
    changed += await saveInOneStatement(inside, others.slice(from, from + ROWS_AT_ONCE), at)
  return changed
}

/** The indexes of the records whose subject is in the registry. */
async function findKnown(inside: Database, records: readonly SealedRecord[]): Promise<ReadonlySet<number>> {
  const found = await inside
    .prepare(
      `SELECT place FROM generate_series(0, $2::int - 1) AS place
       WHERE EXISTS (SELECT 1 FROM registry WHERE subject = substring($1::bytea FROM 32 * place + 1 FOR 32))`,
    )
    .all(Buffer.concat(records.map(({ subject }) => subject)), records.length)
  return new Set(found.map(({ place }) => Number(place)))
}

/**
 * All sealed values are sent as one binary parameter, which the server cuts apart: an array would be sent as text, at twice
 * the size.
 */
async function saveInOneStatement(
  inside: Database,
  records: readonly SealedRecord[],
  at: number,
): Promise<number> {
  const starts: number[] = []
  const lengths: number[] = []
  const parts: Uint8Array[] = []
  let offset = 1
  for (const { subject, digest, sealed } of records) {
    starts.push(offset)
    lengths.push(sealed.length)
    parts.push(subject, digest, sealed)
    offset += subject.length + digest.length + sealed.length
  }
  const statement = inside.prepare(
    `INSERT INTO registry (subject, kind, key_version, digest, sealed, updated_at)
     SELECT substring($1::bytea FROM start FOR 32), kind, version, substring($1::bytea FROM start + 32 FOR 32),
       substring($1::bytea FROM start + 64 FOR size), $6
     FROM unnest($2::int[], $3::int[], $4::text[], $5::int[]) AS cut(start, size, kind, version) ${ON_CONFLICT}`,
  )
  const list = (values: readonly (number | string)[]) => `{${values.join(',')}}`
  return statement.run(
    Buffer.concat(parts),
    list(starts),
    list(lengths),
    list(records.map(({ kind }) => kind)),
    list(records.map(({ keyVersion }) => keyVersion)),
    at,
  )
}

/** Deletes the pictures of these people. Returns early for a registry without pictures. */
export async function dropPictures(inside: Database, records: readonly SealedRecord[]): Promise<void> {
  if (!(await inside.prepare('SELECT 1 AS found FROM media LIMIT 1').get())) return
  if (inside.dialect === 'postgres') {
    const subjects = Buffer.concat(records.map(({ subject }) => subject))
    await inside
      .prepare(
        `DELETE FROM media WHERE subject IN
           (SELECT substring($1::bytea FROM 32 * place + 1 FOR 32) FROM generate_series(0, $2::int - 1) AS place)`,
      )
      .run(subjects, records.length)
    return
  }
  await inside
    .prepare('DELETE FROM media WHERE subject = $1')
    .runAll(records.values().map(({ subject }) => [subject]))
}
