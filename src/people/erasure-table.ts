import { defineTable, type Reader, type TableOf } from '../database/define-table.ts'
import {
  countAll,
  type EarlierErasure,
  type ErasureSubject,
  eraseAgainInTx,
  eraseInTx,
  eraseKept,
  eraseLate,
  type NamedAnswer,
  type UnnamedAnswer,
} from './erase-rows.ts'
import { type KeptPart, readKeptPart } from './kept-answers.ts'
import { createTombstoneReads, insertTombstone } from './tombstone-table.ts'

type UnnamedPart = KeptPart<UnnamedAnswer & { readonly sealed: Uint8Array }>

export const erasureTable = defineTable({
  reads: (database) => ({
    ...createTombstoneReads(database),
    count: (subject: ErasureSubject) => countAll(database, subject),
    /** A part of the stored responses that name no subject: those that expire at `from` or later. */
    listUnnamed: (operation: string, from: number) => listUnnamed(database, operation, from),
    /** A part of the rows that name a subject, this one or any, in the same way. */
    listNamed: (subject: Uint8Array | undefined, from: number) => listNamed(database, subject, from),
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
    eraseKept: (subject: Uint8Array, recentFrom: number) =>
      database.transaction((tx) => eraseKept(tx, { subject, named: [], recentFrom })),
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

export const listNamed = (
  database: Reader,
  subject: Uint8Array | undefined,
  from: number,
): Promise<KeptPart<NamedAnswer>> =>
  readKeptPart(
    database,
    {
      columns: 'key_id, operation, name, subject, CASE WHEN sealed IS NULL THEN 0 ELSE 1 END AS is_stored',
      where: subject ? 'subject = $3' : 'subject IS NOT NULL',
      toAnswer: (row) => ({
        operation: String(row.operation),
        keyId: String(row.key_id),
        name: row.name as Uint8Array,
        subject: Buffer.from(row.subject as Uint8Array).toString('hex'),
        isStored: Number(row.is_stored) === 1,
      }),
    },
    from,
    ...(subject ? [subject] : []),
  )
