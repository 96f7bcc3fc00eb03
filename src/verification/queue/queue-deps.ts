import type { NewEvent } from '../../contract/event.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Caller } from '../../keys/caller.ts'
import type { QueueLimits } from '../../ledger/queue-change.ts'
import type { Lane } from '../../ledger/queue-rows.ts'
import type { QueueTable } from '../../ledger/queue-table.ts'
import type { QueuePace } from './pace.ts'
import type { QueueSignals } from './queue-signals.ts'

export type QueueSettings = {
  /** A verification that is not answered within this time expires. */
  readonly limitMs: number
  /** How long an answer is kept. */
  readonly keepMs: number
  readonly firstRetryMs: number
  readonly longestRetryMs: number
  /** The longest wait that a caller may prefer. */
  readonly maxWaitMs: number
  /** Paid calls of one verification, in all its attempts. */
  readonly paidCalls: number
  readonly limits: QueueLimits
  /** Attempts at the same time in this process. */
  readonly concurrency: Readonly<Record<Lane, number>>
}

/** What verifications that are answered later need of the server. */
export type QueueDeps = {
  readonly table: QueueTable
  readonly keyring: Keyring
  readonly settings: QueueSettings
  readonly signals: QueueSignals
  readonly pace: QueuePace
  /** The key that asked, or the one it was rolled to. Undefined when it has ended. */
  readonly findCaller: (keyId: string) => Promise<Caller | undefined>
  /** Called after the commit of an event. */
  readonly announce: (event: NewEvent) => void
}
