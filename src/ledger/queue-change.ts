import type { NewEvent } from '../contract/event.ts'
import type { Database } from '../database/database.ts'
import type { Completion } from './idempotency-table.ts'
import type { Lane, Lease, NewQueued } from './queue-rows.ts'

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
  /** For webhooks. */
  readonly event?: NewEvent | undefined
}

/** Ends the lease. The next attempt is due after the delay. */
export type Retry = Lease & {
  readonly kind: 'retry'
  readonly delayMs: number
  /** Whether a source was asked. */
  readonly isAttempt: boolean
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
