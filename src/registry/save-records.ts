import { setFlagsFromString } from 'node:v8'
import type { Database, Value } from '../database/database.ts'
import type { SealedRecord } from './sealed-entry.ts'

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
  if (records.length === 0) return 0
  const isPostgres = tx.dialect === 'postgres'
  if (isPostgres && records.length >= COPY_FROM_ROWS) return saveWithCopy(tx, records, at)
  const changed = await (isPostgres ? saveInOneStatement : saveInGroups)(tx, records, at)
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

const COLUMNS = ['subject', 'kind', 'key_version', 'digest', 'sealed', 'updated_at']
const ON_CONFLICT = `ON CONFLICT (subject) DO UPDATE
  SET key_version = excluded.key_version, digest = excluded.digest, sealed = excluded.sealed, updated_at = excluded.updated_at
  WHERE registry.digest <> excluded.digest`

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

const toValues = (record: SealedRecord, at: number): Value[] => [
  record.subject,
  record.kind,
  record.keyVersion,
  record.digest,
  record.sealed,
  at,
]

function toInsert(rows: number): string {
  const place = (row: number) => (_column: string, index: number) => `$${row * COLUMNS.length + index + 1}`
  const values = Array.from({ length: rows }, (_each, row) => `(${COLUMNS.map(place(row)).join(', ')})`)
  return `INSERT INTO registry (${COLUMNS.join(', ')}) VALUES ${values.join(', ')} ${ON_CONFLICT}`
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

/** Written at most once a day: an import of unchanged records must stay fast. */
export const REFRESH_EVERY_MS = 24 * 60 * 60 * 1000

/** Notes that an import contained these records, for those that were not refreshed since a day. */
async function refreshRecords(tx: Database, records: readonly SealedRecord[], at: number): Promise<void> {
  const before = at - REFRESH_EVERY_MS
  if (tx.dialect === 'postgres') {
    await avoidTableScans(tx)
    await tx
      .prepare(
        `UPDATE registry SET updated_at = $3 WHERE ctid = ANY(${toRowIds('registry')}) AND updated_at < $4`,
      )
      .run(Buffer.concat(records.map(({ subject }) => subject)), records.length, at, before)
    return
  }
  await tx
    .prepare('UPDATE registry SET updated_at = $2 WHERE subject = $1 AND updated_at < $3')
    .runAll(records.values().map(({ subject }) => [subject, at, before]))
}

/**
 * In PostgreSQL: the rows of these subjects, which are $1, all in one value, and $2, their number. OFFSET keeps the planner from
 * a join, which would read the whole table. The caller holds the lock of the registry, so the rows stay where they are.
 */
const toRowIds = (table: 'registry' | 'media') => `ARRAY(
  SELECT found.ctid FROM generate_series(0, $2::int - 1) AS place CROSS JOIN LATERAL
    (SELECT ctid FROM ${table} WHERE subject = substring($1::bytea FROM 32 * place + 1 FOR 32) OFFSET 0) AS found)`

/** Until the end of the transaction. A plan is made once, perhaps while the table was empty, and used when it has millions of rows. */
async function avoidTableScans(tx: Database): Promise<void> {
  await tx.prepare('SET LOCAL enable_seqscan = off').run()
}

/** Rows in one statement: more is no faster and takes more memory. */
const ROWS_AT_ONCE = 1000

/** Fewer rows are not worth a look-up and a COPY. */
const COPY_FROM_ROWS = 100

/**
 * In PostgreSQL. New records are copied in, which costs half of inserting them; unchanged ones are not sent. The registry is
 * locked, so no other process adds or changes them meanwhile. Returns how many changed.
 */
async function saveWithCopy(tx: Database, records: readonly SealedRecord[], at: number): Promise<number> {
  const { fresh, changed, old } = await findKnown(tx, records, at)
  if (fresh.length > 0) await tx.copyIn?.(COPY, encodeCopy(fresh, at))
  for (let from = 0; from < changed.length; from += ROWS_AT_ONCE)
    await saveInOneStatement(tx, changed.slice(from, from + ROWS_AT_ONCE), at)
  if (old.length > 0) await refreshRecords(tx, old, at)
  return fresh.length + changed.length
}

/**
 * All sealed values are sent as one binary parameter, which the server cuts apart: an array would be sent as text, at twice
 * the size.
 */
async function saveInOneStatement(
  tx: Database,
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
  const statement = tx.prepare(
    `INSERT INTO registry (${COLUMNS.join(', ')})
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

const COPY = `COPY registry (${COLUMNS.join(', ')}) FROM STDIN (FORMAT binary)`
/** The signature of the format, no flags, no extension. */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const TRAILER = Buffer.from([0xff, 0xff])
const BIGINT_BYTES = 8

/** The records in the binary format of COPY: for each column its length and its bytes. */
function encodeCopy(records: readonly SealedRecord[], at: number): Buffer {
  const size = records.reduce((sum, record) => sum + toSize(record), HEADER.length + TRAILER.length)
  const data = Buffer.allocUnsafe(size)
  data.set(HEADER)
  let end = HEADER.length
  const putBytes = (bytes: Uint8Array) => {
    data.set(bytes, data.writeUInt32BE(bytes.length, end))
    end += 4 + bytes.length
  }
  const putNumber = (value: number) => {
    end = data.writeBigInt64BE(BigInt(value), data.writeUInt32BE(BIGINT_BYTES, end))
  }
  for (const { subject, kind, keyVersion, digest, sealed } of records) {
    end = data.writeUInt16BE(COLUMNS.length, end)
    putBytes(subject)
    putBytes(Buffer.from(kind))
    putNumber(keyVersion)
    putBytes(digest)
    putBytes(sealed)
    putNumber(at)
  }
  data.set(TRAILER, end)
  return data
}

const toSize = ({ subject, kind, digest, sealed }: SealedRecord) =>
  2 + COLUMNS.length * 4 + subject.length + kind.length + digest.length + sealed.length + 2 * BIGINT_BYTES

/** A subject and a digest. */
const PAIR_BYTES = 64

/**
 * Looks each record up through the index. LIMIT keeps the planner from a join, which would read the whole registry: the plan
 * is made once, perhaps while the table was empty.
 */
const FIND = `SELECT place, found.digest <> substring($1::bytea FROM ${PAIR_BYTES} * place + 33 FOR 32) AS is_changed,
    found.updated_at < $3 AS is_old
  FROM generate_series(0, $2::int - 1) AS place CROSS JOIN LATERAL
    (SELECT digest, updated_at FROM registry
     WHERE subject = substring($1::bytea FROM ${PAIR_BYTES} * place + 1 FOR 32) LIMIT 1) AS found`

/**
 * In PostgreSQL. Which records are new, which have other content in the registry, and which have the same but were not refreshed
 * since a day. The registry is locked, so that the answer holds until the end of the transaction.
 */
async function findKnown(tx: Database, records: readonly SealedRecord[], at: number) {
  const pairs = Buffer.concat(records.flatMap(({ subject, digest }) => [subject, digest]))
  const rows = await tx.prepare(FIND).all(pairs, records.length, at - REFRESH_EVERY_MS)
  if (rows.length === 0) return { fresh: records, changed: [], old: [] }
  const toRecord = ({ place }: { readonly place?: unknown }) => records[Number(place)] as SealedRecord
  const known = new Set(rows.map(toRecord))
  return {
    fresh: records.filter((record) => !known.has(record)),
    changed: rows.filter(({ is_changed: isChanged }) => isChanged).map(toRecord),
    old: rows.filter(({ is_changed: isChanged, is_old: isOld }) => isOld && !isChanged).map(toRecord),
  }
}
