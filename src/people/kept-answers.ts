import { setImmediate as nextTurn } from 'node:timers/promises'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import type { Row, Value } from '../database/database.ts'
import type { Reader } from '../database/define-table.ts'
import { STORED_MS } from '../ledger/idempotency-table.ts'

/**
 * Answers under Idempotency-Keys are found by the index on the expiry and the subject. All of it can be millions of rows, which take
 * PostgreSQL longer than a statement may, so it is read in parts of this time.
 */
const PART_MS = 5 * MINUTE_MS

export type KeptPart<T> = {
  readonly answers: readonly T[]
  /** Where the next part begins; undefined after the last one. */
  readonly next: number | undefined
}

/** Rows that expire at `from` or later. $1 and $2 of the condition are taken. Rows that are stored meanwhile are added at the end. */
export async function readKeptPart<T>(
  database: Reader,
  { columns, where, toAnswer }: { columns: string; where: string; toAnswer: (row: Row) => T },
  from: number,
  ...values: readonly Value[]
): Promise<KeptPart<T>> {
  const first = await database
    .prepare('SELECT expires_at FROM idempotency WHERE expires_at >= $1 ORDER BY expires_at LIMIT 1')
    .get(from)
  if (!first) return { answers: [], next: undefined }
  const start = Number(first.expires_at)
  const rows = await database
    .prepare(`SELECT ${columns} FROM idempotency WHERE expires_at >= $1 AND expires_at < $2 AND ${where}`)
    .all(start, start + PART_MS, ...values)
  return { answers: rows.map(toAnswer), next: start + PART_MS }
}

/** All parts. Other work has a turn between them. */
export async function readAllParts<T>(
  read: (from: number) => Promise<KeptPart<T>>,
  take: (answers: readonly T[]) => void,
): Promise<void> {
  for (let from: number | undefined = 0; from !== undefined; ) {
    const part: KeptPart<T> = await read(from)
    take(part.answers)
    // SQLite answers without leaving the event loop.
    await nextTurn()
    from = part.next
  }
}

/** What was stored within this time expires at this time or later: no row is kept for shorter. */
export const toRecentExpiry = (withinMs: number) => steadyNow() + STORED_MS - withinMs
