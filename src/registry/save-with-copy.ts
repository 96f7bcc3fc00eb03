import type { Database } from '../database/database.ts'
import { COPY, encodeCopy } from './copy-records.ts'
import { findKnown } from './known-records.ts'
import { refreshRecords } from './refresh-records.ts'
import type { SealedRecord } from './sealed-record.ts'

export const ON_CONFLICT = `ON CONFLICT (subject) DO UPDATE
  SET key_version = excluded.key_version, digest = excluded.digest, sealed = excluded.sealed, updated_at = excluded.updated_at
  WHERE registry.digest <> excluded.digest`

/** Rows in one statement: more is no faster and takes more memory. */
const ROWS_AT_ONCE = 1000

/** Fewer rows are not worth a look-up and a COPY. */
const COPY_FROM_ROWS = 100

/**
 * In PostgreSQL. New records are copied in, which costs half of inserting them; unchanged ones are not sent. The registry is
 * locked, so no other process adds or changes them meanwhile. Returns how many changed.
 */
export async function saveWithCopy(
  tx: Database,
  records: readonly SealedRecord[],
  at: number,
): Promise<number> {
  if (records.length < COPY_FROM_ROWS) return saveFew(tx, records, at)
  const { fresh, changed, old } = await findKnown(tx, records, at)
  if (fresh.length > 0) await tx.copyIn?.(COPY, encodeCopy(fresh, at))
  for (let from = 0; from < changed.length; from += ROWS_AT_ONCE)
    await saveInOneStatement(tx, changed.slice(from, from + ROWS_AT_ONCE), at)
  if (old.length > 0) await refreshRecords(tx, old, at)
  return fresh.length + changed.length
}

async function saveFew(tx: Database, records: readonly SealedRecord[], at: number): Promise<number> {
  const changed = records.length === 0 ? 0 : await saveInOneStatement(tx, records, at)
  if (changed < records.length) await refreshRecords(tx, records, at)
  return changed
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
