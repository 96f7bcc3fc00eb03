import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import type { Batch } from '../ledger/batch.ts'
import { toLifeMs } from '../verification/queue/enqueue.ts'
import type { BatchDeps } from './batch-deps.ts'

/** Moves the rows of batches to the queue of verifications. On each node; the nodes take turns. */
type BatchFeeder = {
  /** To be called when a batch was accepted or stopped. */
  readonly wake: () => Promise<void>
  readonly close: () => Promise<void>
}

const EVERY_MS = 1000
/** Rows are in the queue so long before they are due, so that a row is there when the one before is done. */
const AHEAD_MS = 3000
/** Rows of one key in the queue, when the sources are slower than the rate. */
const MOST_QUEUED = 1000

export function startBatchFeeder(deps: BatchDeps): BatchFeeder {
  const { table, queue, rowsPerMinute, onFailure } = deps
  const feed = {
    intervalMs: MINUTE_MS / rowsPerMinute,
    aheadMs: AHEAD_MS,
    mostQueued: MOST_QUEUED,
    lifeMs: { test: toLifeMs(queue.settings, 'test'), live: toLifeMs(queue.settings, 'live') },
  }
  let isStopped = false
  let running: Promise<void> | undefined
  const feedAll = async () => {
    try {
      // Also rows that were running when their batch was stopped, and wait for another attempt now.
      for (const batch of await table.listStopping(steadyNow())) await cancelQueued(deps, batch)
      while (!isStopped && (await table.feed(feed, steadyNow())) > 0) queue.signals.wake()
    } catch (error) {
      onFailure(error)
    }
  }
  const wake = async () => {
    // A round that is under way may have looked before the change that this call is about.
    await running
    if (isStopped) return
    running ??= feedAll().finally(() => {
      running = undefined
    })
    await running
  }
  const timer = setInterval(() => void wake(), EVERY_MS).unref()
  return {
    wake,
    close: async () => {
      isStopped = true
      clearInterval(timer)
      await running
    },
  }
}

const ROWS_AT_ONCE = 100

/** Cancels the rows of a batch that are in the queue and have not begun, each with its audit row. */
async function cancelQueued({ queue, audit }: BatchDeps, { id, lineage }: Batch): Promise<void> {
  const { table, settings, signals } = queue
  for (;;) {
    const rows = await table.listWaiting(id, ROWS_AT_ONCE, steadyNow())
    const cancelled = rows.map(async ({ reference, keyId, mode, operation, subject }) => {
      const about = { request_reference: reference, key_id: keyId, mode, operation }
      const entry = {
        ...about,
        subject: Buffer.from(subject).toString('hex'),
        phase: 'outcome',
        outcome: 'cancelled',
      }
      const change = { kind: 'cancel', reference, lineage, keepMs: settings.keepMs } as const
      const refusal = await audit.recordChange(change, [entry])
      if (!refusal) signals.end(reference, 'cancelled')
      return refusal
    })
    // What was refused has begun or ended meanwhile, and is not listed again.
    if ((await Promise.all(cancelled)).every((refusal) => refusal !== undefined)) return
  }
}
