import { setFlagsFromString } from 'node:v8'
import type { Database } from './database.ts'
import type { SealedRecord } from './sealed-record.ts'

/** Taken by every transaction that changes sealed rows: two that change the same rows in another order would deadlock. */
export const REGISTRY_LOCK = 'registry'

/** Inserts or updates many records. SQLite and PostgreSQL need different statements to be fast. Returns how many changed. */
export function saveRecords(inside: Database, records: readonly SealedRecord[], at: number): Promise<number> {
  return inside.dialect === 'postgres'
    ? saveManyAtOnce(inside, records, at)
    : saveOneByOne(inside, records, at)
}

/**
 * For a command that writes millions of rows. SQLite: checkpoint the write-ahead log every 64 MiB instead of 4, and use a
 * smaller page cache. PostgreSQL: the driver makes much garbage, for which V8 would grow its young generation by 120 MB; the
 * flag keeps it small.
 */
export async function prepareForBulk(database: Database): Promise<void> {
  if (database.dialect === 'postgres') {
    setFlagsFromString('--semi-space-growth-factor=1')
    return
  }
  await database.prepare('PRAGMA wal_autocheckpoint = 16384').get()
  await database.prepare('PRAGMA cache_size = -24576').get()
}

const ON_CONFLICT = `ON CONFLICT (subject) DO UPDATE
  SET key_version = excluded.key_version, digest = excluded.digest, sealed = excluded.sealed, updated_at = excluded.updated_at
  WHERE registry.digest <> excluded.digest`

function saveOneByOne(inside: Database, records: readonly SealedRecord[], at: number): Promise<number> {
  const statement = inside.prepare(
    `INSERT INTO registry (subject, kind, key_version, digest, sealed, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6) ${ON_CONFLICT}`,
  )
  return statement.runAll(
    records
      .values()
      .map(({ subject, kind, keyVersion, digest, sealed }) => [
        subject,
        kind,
        keyVersion,
        digest,
        sealed,
        at,
      ]),
  )
}

/** Rows in one statement: more is no faster and takes more memory. */
const ROWS_AT_ONCE = 1000

async function saveManyAtOnce(
  inside: Database,
  records: readonly SealedRecord[],
  at: number,
): Promise<number> {
  let changed = 0
  for (let from = 0; from < records.length; from += ROWS_AT_ONCE)
    changed += await saveInOneStatement(inside, records.slice(from, from + ROWS_AT_ONCE), at)
  return changed
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
