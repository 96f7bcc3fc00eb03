import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { toLifeMs } from '../verification/queue/enqueue.ts'
import type { BatchDeps } from './batch-deps.ts'
import { cancelQueued } from './cancel-queued.ts'

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
