import type { Database } from '../database/database.ts'
import {
  countAll,
  type EarlierErasure,
  type Erased,
  type ErasedAgain,
  type ErasedRows,
  type ErasureSubject,
  eraseAgainInTx,
  eraseInTx,
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
  /** A part of the stored responses that name no subject: those that expire at `from` or later. */
  readonly listUnnamed: (operation: string, from: number) => Promise<UnnamedPart>
}

type UnnamedPart = {
  readonly answers: readonly (UnnamedAnswer & { readonly sealed: Uint8Array })[]
  /** Where the next part begins; undefined after the last one. */
  readonly next: number | undefined
}

export function createErasureTable(database: Database): ErasureTable {
  return {
    ...createTombstoneTable(database),
    count: (subject) => countAll(database, subject),
    erase: (subject, now) =>
      database.transaction(async (tx) => {
        const erased = await eraseInTx(tx, subject, now)
        return { ...erased, erasedAt: await insertTombstone(tx, subject) }
      }),
    eraseAgain: (erasures, now) =>
      database.transaction((tx) => eraseAgainInTx(tx, erasures, now), { patient: true }),
    eraseKept: (subject) => database.transaction((tx) => eraseKept(tx, subject)),
    eraseLate: (subject) => database.transaction((tx) => eraseLate(tx, subject)),
    listUnnamed: (operation, from) => listUnnamed(database, operation, from),
  }
}

/** Rows of the index that one part reads: in SQLite, requests wait meanwhile. */
const ROWS_PER_PART = 1000

/** By the index on the expiry. Rows that are stored meanwhile are added at its end. */
export async function listUnnamed(database: Database, operation: string, from: number): Promise<UnnamedPart> {
  const last = await database
    .prepare(
      `SELECT expires_at FROM idempotency WHERE expires_at >= $1 ORDER BY expires_at LIMIT 1 OFFSET ${ROWS_PER_PART}`,
    )
    .get(from)
  // Rows of the same millisecond are in one part.
  const next = last && Math.max(Number(last.expires_at), from + 1)
  const rows = await database
    .prepare(
      `SELECT key_id, name, sealed FROM idempotency
       WHERE expires_at >= $1 AND expires_at < $2 AND subject IS NULL AND sealed IS NOT NULL AND operation = $3`,
    )
    .all(from, next ?? Number.MAX_SAFE_INTEGER, operation)
  const answers = rows.map((row) => ({
    operation,
    keyId: String(row.key_id),
    name: row.name as Uint8Array,
    sealed: row.sealed as Uint8Array,
  }))
  return { answers, next }
}
