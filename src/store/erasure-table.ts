import type { Database } from './database.ts'
import {
  countAll,
  type EarlierErasure,
  type Erased,
  type ErasedAgain,
  type ErasedRows,
  type ErasureSubject,
  eraseAgainInside,
  eraseInside,
  eraseKept,
  eraseLate,
  type UnnamedAnswer,
} from './erase-rows.ts'
import {
  createTombstoneTable,
  insertTombstone,
  type Tombstone,
  type TombstoneTable,
} from './tombstone-table.ts'

export type ErasureTable = TombstoneTable & {
  readonly count: (subject: ErasureSubject) => Promise<Erased>
  /** Deletes everything about the person in one commit, and leaves a tombstone. Returns the counts. */
  readonly erase: (subject: ErasureSubject, now: number) => Promise<ErasedRows & Pick<Tombstone, 'erasedAt'>>
  /** The same for erasures of another copy of this database, in one commit. Those that are known here are left out. */
  readonly eraseAgain: (erasures: readonly EarlierErasure[], now: number) => Promise<ErasedAgain[]>
  /**
   * Deletes the stored responses once more after an erasure, and returns how many there were: in PostgreSQL a request may
   * have begun, read the record and stored its response while the erasure ran.
   */
  readonly eraseKept: (subject: Uint8Array) => Promise<number>
  /**
   * Deletes the answers about a person who was erased within the last minute: the verification was running then, and only its
   * answer told the number.
   */
  readonly eraseLate: (subject: Uint8Array) => Promise<number>
  /** The next stored responses that name no subject. */
  readonly listUnnamed: (
    after: UnnamedAnswer,
    most: number,
  ) => Promise<(UnnamedAnswer & { readonly sealed: Uint8Array })[]>
}

export function createErasureTable(database: Database): ErasureTable {
  return {
    ...createTombstoneTable(database),
    count: (subject) => countAll(database, subject),
    erase: (subject, now) =>
      database.transaction(async (inside) => {
        const erased = await eraseInside(inside, subject, now)
        return { ...erased, erasedAt: await insertTombstone(inside, subject) }
      }),
    eraseAgain: (erasures, now) =>
      database.transaction((inside) => eraseAgainInside(inside, erasures, now), { patient: true }),
    eraseKept: (subject) => database.transaction((inside) => eraseKept(inside, subject)),
    eraseLate: (subject) => database.transaction((inside) => eraseLate(inside, subject)),
    listUnnamed: (after, most) => listUnnamed(database, after, most),
  }
}

/** The next stored responses that name no subject. */
export async function listUnnamed(
  database: Database,
  { operation, keyId, name }: UnnamedAnswer,
  most: number,
): Promise<(UnnamedAnswer & { readonly sealed: Uint8Array })[]> {
  const rows = await database
    .prepare(
      `SELECT key_id, name, sealed FROM idempotency
           WHERE expires_at >= 0 AND subject IS NULL AND sealed IS NOT NULL AND operation = $1
             AND (key_id || '', name) > ($2, $3)
           ORDER BY key_id || '', name LIMIT $4`,
    )
    .all(operation, keyId, name, most)
  return rows.map((row) => ({
    operation,
    keyId: String(row.key_id),
    name: row.name as Uint8Array,
    sealed: row.sealed as Uint8Array,
  }))
}
