import { defineTable, type Reader, type TableOf } from '../database/define-table.ts'
import {
  countAll,
  type EarlierErasure,
  type ErasureSubject,
  eraseAgainInTx,
  eraseInTx,
  eraseKept,
  eraseLate,
  type UnnamedAnswer,
} from './erase-rows.ts'
import { createTombstoneReads, insertTombstone } from './tombstone-table.ts'

type UnnamedPart = {
  readonly answers: readonly (UnnamedAnswer & { readonly sealed: Uint8Array })[]
  /** Where the next part begins; undefined after the last one. */
  readonly next: number | undefined
}

export const erasureTable = defineTable({
  reads: (database) => ({
    ...createTombstoneReads(database),
    count: (subject: ErasureSubject) => countAll(database, subject),
    /** A part of the stored responses that name no subject: those that expire at `from` or later. */
    listUnnamed: (operation: string, from: number) => listUnnamed(database, operation, from),
  }),
  writes: (database) => ({
    /** Deletes everything about the person in one commit, and leaves a tombstone. Returns the counts. */
    erase: (subject: ErasureSubject, now: number) =>
      database.transaction(async (tx) => {
        const erased = await eraseInTx(tx, subject, now)
        return { ...erased, erasedAt: await insertTombstone(tx, subject) }
      }),
    /** The same for some erasures of another copy of this database, in one commit. Those that are known here are left out. */
    eraseAgain: (erasures: readonly EarlierErasure[], now: number) =>
      database.transaction((tx) => eraseAgainInTx(tx, erasures, now, 'person'), { patient: true }),
    /**
     * Deletes the stored responses once more after an erasure, and returns how many there were: in PostgreSQL a request may
     * have begun, read the record and stored its response while the erasure ran.
     */
    eraseKept: (subject: Uint8Array) => database.transaction((tx) => eraseKept(tx, subject)),
    /**
     * Deletes the answers about a person who was erased within the last minute: the verification was running then, and only its
     * answer told the number.
     */
    eraseLate: (subject: Uint8Array) => database.transaction((tx) => eraseLate(tx, subject)),
  }),
})
export type ErasureTable = TableOf<typeof erasureTable>

/** Rows of the index that one part reads: in SQLite, requests wait meanwhile. */
const ROWS_PER_PART = 1000

/** By the index on the expiry. Rows that are stored meanwhile are added at its end. */
export async function listUnnamed(database: Reader, operation: string, from: number): Promise<UnnamedPart> {
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
