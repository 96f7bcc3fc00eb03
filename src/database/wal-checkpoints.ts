import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { openWorkerThread } from '../assets/worker-thread.ts'

type WalCheckpoints = {
  /** To be called after each commit. `countPending` counts the frames of the write-ahead log that are not in the database yet. */
  readonly onCommit: (countPending: () => number) => void
  readonly close: () => Promise<void>
}

/** Frames (4 MB) that are copied at once. */
const STEP_FRAMES = 1000
/** Small commits follow each other closely, and counting takes as long as writing a row. */
const COUNT_EVERY_MS = 20

/**
 * Copies the write-ahead log of SQLite to the database in a thread of its own, a piece at a time, while commits go on. SQLite's
 * automatic checkpoint would do it inside a commit, which then takes 150 ms instead of 1. It remains for the few frames that
 * are left when the log is full, and for the case that this thread has failed. The thread is started when it is needed first.
 */
export function createWalCheckpoints(path: string): WalCheckpoints {
  let worker: Worker | undefined
  let isBusy = false
  let hasFailed = false
  let countedAt = Number.NEGATIVE_INFINITY
  const start = () => {
    const started = openWorkerThread('wal-checkpoint', { workerData: { path } })
    started.on('message', () => {
      isBusy = false
    })
    started.on('error', () => {
      hasFailed = true
    })
    started.unref()
    return started
  }
  return {
    onCommit: (countPending) => {
      const now = performance.now()
      if (isBusy || hasFailed || now - countedAt < COUNT_EVERY_MS) return
      countedAt = now
      if (countPending() < STEP_FRAMES) return
      worker ??= start()
      isBusy = true
      worker.postMessage('checkpoint')
    },
    close: async () => {
      if (!worker || hasFailed) return
      worker.ref()
      const ended = once(worker, 'exit')
      worker.postMessage('close')
      await ended
    },
  }
}
