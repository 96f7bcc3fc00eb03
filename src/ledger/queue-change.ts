import type { NewEvent } from '../contract/event.ts'
import type { NewBatch, ReceivedBatch } from './batch-receive.ts'
import type { Completion } from './idempotency-table.ts'
import type { Lease, NewQueued } from './queue-rows.ts'

/** How many verifications may wait, for one key and for all keys together. */
export type QueueLimits = { readonly perKey: number; readonly all: number }

/** A change of the queue that is written in the same commit as its audit rows. */
export type QueueChange = Enqueue | Finish | Retry | Cancel | BatchChange

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

/** Refused when the batch is not received by this process any more, or has ended or was stopped before. */
export type BatchChange =
  | {
      readonly kind: 'accept_batch'
      readonly batch: Pick<NewBatch, 'id' | 'owner'>
      readonly received: ReceivedBatch
    }
  | { readonly kind: 'stop_batch'; readonly id: string }

/** The changes of one commit, by the position of their request in it. */
export type QueueBatch = {
  readonly now: number
  readonly changes: readonly (readonly [position: number, change: QueueChange])[]
}

/** `lease_lost`: another process has taken the verification, the batch or the Idempotency-Key, or it has ended. */
export type QueueRefusal = 'queue_full' | 'lease_lost'
