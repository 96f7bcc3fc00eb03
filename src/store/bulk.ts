import type { Database } from './database.ts'
import type { SealedRecord } from './registry-table.ts'

/** Where SQLite and PostgreSQL must be asked differently to be fast: many rows at once. */
export function saveRecords(inside: Database, records: readonly SealedRecord[], at: number): Promise<number> {
  return inside.dialect === 'postgres'
    ? saveInOneStatement(inside, records, at)
    : saveOneByOne(inside, records, at)
}

const ON_CONFLICT = `ON CONFLICT (subject) DO UPDATE
  SET key_version = excluded.key_version, digest = excluded.digest, sealed = excluded.sealed, updated_at = excluded.updated_at
  WHERE registry.digest <> excluded.digest`

async function saveOneByOne(inside: Database, records: readonly SealedRecord[], at: number): Promise<number> {
  const statement = inside.prepare(
    `INSERT INTO registry (subject, kind, key_version, digest, sealed, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6) ${ON_CONFLICT}`,
  )
  let changed = 0
  for (const { subject, kind, keyVersion, digest, sealed } of records)
    changed += await statement.run(subject, kind, keyVersion, digest, sealed, at)
  return changed
}

/**
 * All sealed values travel as one binary parameter and are cut apart by the server: an array of them would travel as
 * text, at twice the size. Two rows of one person in a batch cannot be changed by one statement, so the last one wins.
 */
async function saveInOneStatement(
  inside: Database,
  records: readonly SealedRecord[],
  at: number,
): Promise<number> {
  const unique = [
    ...new Map(records.map((record) => [Buffer.from(record.subject).toString('latin1'), record])).values(),
  ]
  if (unique.length === 0) return 0
  const starts: number[] = []
  const lengths: number[] = []
  const parts: Uint8Array[] = []
  let offset = 1
  for (const { subject, digest, sealed } of unique) {
    starts.push(offset)
    lengths.push(sealed.length)
    parts.push(subject, digest, sealed)
    offset += subject.length + digest.length + sealed.length
  }
  const statement = inside.prepare(
    `INSERT INTO registry (subject, kind, key_version, digest, sealed, updated_at)
     SELECT substring($1::bytea FROM start FOR 32), $4, $5, substring($1::bytea FROM start + 32 FOR 32),
       substring($1::bytea FROM start + 64 FOR size), $6
     FROM unnest($2::int[], $3::int[]) AS cut(start, size) ${ON_CONFLICT}`,
  )
  const { kind, keyVersion } = unique[0] as SealedRecord
  const list = (numbers: readonly number[]) => `{${numbers.join(',')}}`
  return statement.run(Buffer.concat(parts), list(starts), list(lengths), kind, keyVersion, at)
}
