import type { NewEvent } from '../contract/event.ts'
import type { Mode } from '../contract/scope.ts'
import type { Database, Row } from '../database/database.ts'
import type { Completion } from './idempotency-table.ts'

/** Batches have a lane of their own, so that they never delay single verifications. */
export type Lane = 'single' | 'batch'

/** Verifications that wait for the same sources. */
export type QueueClass = { readonly lane: Lane; readonly mode: Mode; readonly operation: string }

/** The first verification of a key in one class. */
export type QueueHead = QueueClass & {
  readonly lineage: string
  /** Time until it is due; 0 or less when it is. */
  readonly dueMs: number
}

/** `gone`: the answer is no longer kept. */
type QueueState = 'pending' | 'answered' | 'expired' | 'cancelled' | 'gone'

/** A verification that will be answered later. Times are durations: the clock is that of the database. */
export type NewQueued = QueueClass & {
  readonly reference: string
  readonly keyId: string
  readonly lineage: string
  /** Keyed hash of the number, by which an erasure finds it. */
  readonly subject: Uint8Array
  /** Only in the lane of batches. */
  readonly batch?: string | undefined
  readonly delayMs: number
  /** It expires when it is not answered within this time. */
  readonly lifeMs: number
  /** Paid calls that were made for it before. */
  readonly paidCalls?: number | undefined
  /** Keyed hash of its Idempotency-Key. */
  readonly idempotency?: Uint8Array | undefined
  /** Sealed. */
  readonly question: Uint8Array
}

/** The right to work on a verification. It ends when another process takes the verification after the end of the lease. */
export type Lease = { readonly reference: string; readonly lease: string }

/** A verification under a lease. */
export type Claimed = Lease &
  QueueClass & {
    readonly keyId: string
    readonly lineage: string
    readonly subject: Uint8Array
    readonly batch: string | undefined
    /** Attempts that failed. */
    readonly attempts: number
    readonly paidCalls: number
    /** Time until it expires; 0 or less when that is due. */
    readonly lifeMs: number
    readonly idempotency: Uint8Array | undefined
    readonly question: Uint8Array
  }

/** A verification as its caller sees it. */
export type Queued = {
  readonly reference: string
  readonly keyId: string
  readonly mode: Mode
  readonly operation: string
  readonly subject: Uint8Array
  readonly state: QueueState
  /** Of a verification that was answered. */
  readonly outcome: string | undefined
  readonly isRunning: boolean
  /** Time until the next attempt; 0 or less when it is due. Undefined when the verification has ended. */
  readonly dueMs: number | undefined
  /** Sealed. Undefined unless it was answered. */
  readonly answer: Uint8Array | undefined
}

/** How many verifications may wait, for one key and for all keys together. */
export type QueueLimits = { readonly perKey: number; readonly all: number }

/** A change of the queue that is written in the same commit as its audit rows. */
export type QueueChange = Enqueue | Finish | Retry | Cancel | GroupChange

export type Enqueue = {
  readonly kind: 'enqueue'
  readonly row: NewQueued
  readonly limits: QueueLimits
  /** Stores the response "pending" under the Idempotency-Key. */
  readonly completion?: Completion | undefined
}

/** The end of a verification. */
export type Finish = Lease & {
  readonly kind: 'finish'
  readonly state: 'answered' | 'expired' | 'cancelled'
  readonly outcome: string
  /** Sealed for the verification, and for its Idempotency-Key. Without the latter, the Idempotency-Key can be used again. */
  readonly answer: Uint8Array | undefined
  readonly stored: Uint8Array | undefined
  readonly keepMs: number
  /** Keyed hash of the number in the answer, if it is not the one asked for: an erasure of it finds the answer. */
  readonly subject?: Uint8Array | undefined
  /** Paid calls that were not billed. */
  readonly refunded?: number | undefined
  /** For webhooks. */
  readonly event?: NewEvent | undefined
}

/** Ends the lease. The next attempt is due after the delay. */
export type Retry = Lease & {
  readonly kind: 'retry'
  readonly delayMs: number
  /** Whether a source was asked. */
  readonly isAttempt: boolean
  /** Paid calls that were not billed. */
  readonly refunded?: number | undefined
  /** Sealed, with what the attempt has found out. Undefined: as it was. */
  readonly question?: Uint8Array | undefined
}

/** By the caller. Refused while an attempt is running, and after the end. A refused one takes nothing from the attempt. */
export type Cancel = {
  readonly kind: 'cancel'
  readonly reference: string
  readonly lineage: string
  readonly keepMs: number
}

/** A change of what verifications belong to, such as a batch. Only its feature knows what it says. */
export type GroupChange = { readonly kind: 'group'; readonly change: unknown }

/** A verification that has ended: answered, expired, cancelled or erased. */
export type QueueEnd = {
  readonly reference: string
  readonly lineage: string
  readonly lane: Lane
  readonly batch: string | null
  readonly outcome: string
}

/** What verifications belong to, such as batches: it changes in the commits of the queue. */
export type QueueGroups = {
  /** Locks what the changes and the rows belong to. Says of one change after the other whether it may be made. */
  readonly lock: (
    tx: Database,
    changes: readonly GroupChange[],
    rows: readonly Pick<QueueEnd, 'batch'>[],
  ) => Promise<(change: GroupChange) => boolean>
  /** Makes a change that may be made. */
  readonly write: (tx: Database, change: GroupChange, now: number) => Promise<void>
  /** In a transaction that has locked the counts of the queue. */
  readonly end: (tx: Database, ends: readonly QueueEnd[]) => Promise<void>
  /** SQL: until when answers are kept. The arguments are SQL too. */
  readonly toKeptUntil: (id: string, now: string, keepMs: string) => string
}

/** The changes of one commit, by the position of their request in it. */
export type QueueBatch = {
  readonly now: number
  readonly changes: readonly (readonly [position: number, change: QueueChange])[]
}

/** `lease_lost`: another process has taken the verification, its group or the Idempotency-Key, or it has ended. */
export type QueueRefusal = 'queue_full' | 'lease_lost'

const CLASS_COLUMNS = 'lane, mode, operation'
export const CLAIMED_COLUMNS = `reference, lease, ${CLASS_COLUMNS}, key_id, lineage, subject, batch, attempts, paid_calls,
  idempotency, question`

/** `now` and the end of an answer are SQL. An answer is gone as soon as its time is over, also before it is deleted. */
export const toQueuedColumns = (
  now: string,
  keptUntil = 'expires_at',
) => `reference, key_id, mode, operation, subject, outcome,
  CASE WHEN due_at IS NULL AND ${keptUntil} <= ${now} THEN 'gone' ELSE state END AS state,
  CASE WHEN due_at IS NULL AND ${keptUntil} <= ${now} THEN NULL ELSE answer END AS answer,
  CASE WHEN lease IS NOT NULL AND due_at > ${now} THEN 1 ELSE 0 END AS is_running,
  due_at - ${now} AS due_ms`

export const toClaimed = (row: Row): Claimed => ({
  ...toClass(row),
  reference: String(row.reference),
  lease: String(row.lease),
  keyId: String(row.key_id),
  lineage: String(row.lineage),
  subject: row.subject as Uint8Array,
  batch: toOptional(row.batch, String),
  attempts: Number(row.attempts),
  paidCalls: Number(row.paid_calls),
  lifeMs: Number(row.life_ms),
  idempotency: toOptional(row.idempotency, (bytes) => bytes as Uint8Array),
  question: row.question as Uint8Array,
})

export const toClass = (row: Row): QueueClass => ({
  lane: row.lane as Lane,
  mode: row.mode as Mode,
  operation: String(row.operation),
})

export const toQueued = (row: Row): Queued => ({
  reference: String(row.reference),
  keyId: String(row.key_id),
  mode: row.mode as Mode,
  operation: String(row.operation),
  subject: row.subject as Uint8Array,
  state: row.state as QueueState,
  outcome: toOptional(row.outcome, String),
  isRunning: Number(row.is_running) === 1,
  dueMs: toOptional(row.due_ms, Number),
  answer: toOptional(row.answer, (bytes) => bytes as Uint8Array),
})

const toOptional = <T>(value: unknown, read: (value: unknown) => T): T | undefined =>
  value === null || value === undefined ? undefined : read(value)

/** Many rows as one parameter: one statement and one round trip. Bytes are in hex. */
export const packValues = (rows: readonly (readonly (string | number | Uint8Array | null)[])[]) =>
  JSON.stringify(
    rows.map((values) =>
      values.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value)),
    ),
  )

/** SQL to read packed values: a list of rows, and the columns of one by position. */
export const toUnpack = ({ dialect }: Pick<Database, 'dialect'>) => ({
  rows: (parameter: string) =>
    dialect === 'postgres'
      ? `jsonb_array_elements(${parameter}::jsonb) WITH ORDINALITY AS packed(value, position)`
      : `json_each(${parameter}) AS packed`,
  text: (index: number) => `packed.value->>${index}`,
  number: (index: number) => `CAST(packed.value->>${index} AS BIGINT)`,
  bytes: (index: number) =>
    dialect === 'postgres' ? `decode(packed.value->>${index}, 'hex')` : `unhex(packed.value->>${index})`,
})
