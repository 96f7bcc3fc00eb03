import type { Worker } from 'node:worker_threads'
import { openWorkerThread } from '../assets/worker-thread.ts'
import type { Context } from '../context/context.ts'
import type { RegistryCounts } from '../registry/stats.ts'

/** Counts the records in a worker thread: millions take seconds, which would block the event loop. */
export type RecordCounter = {
  readonly read: () => Promise<RegistryCounts>
  readonly close: () => Promise<void>
}

/** A count is kept this many times as long as it took. */
const KEPT_TIMES = 10

export function createRecordCounter({ config }: Pick<Context, 'config'>): RecordCounter {
  let worker: Worker | undefined
  let counted: Promise<RegistryCounts> | undefined
  let until = Number.POSITIVE_INFINITY

  const count = async () => {
    const startedAt = performance.now()
    until = Number.POSITIVE_INFINITY
    try {
      worker = startThread(config)
      return await toCounts(worker)
    } finally {
      worker = undefined
      until = performance.now() + KEPT_TIMES * (performance.now() - startedAt)
    }
  }
  return {
    read: () => {
      if (!counted || performance.now() > until) {
        const counting = count()
        counted = counting
        // A failure is not kept: the next reader counts again.
        counting.catch(() => {
          if (counted === counting) counted = undefined
        })
      }
      return counted
    },
    close: async () => {
      await worker?.terminate()
    },
  }
}

function startThread({ dataDir, databaseUrl }: Context['config']): Worker {
  return openWorkerThread('record-count', { workerData: { dataDir, databaseUrl, mustExist: true } })
}

function toCounts(worker: Worker): Promise<RegistryCounts> {
  const { promise, resolve, reject } = Promise.withResolvers<RegistryCounts>()
  worker
    .once('message', resolve)
    .once('error', reject)
    .once('exit', () => reject(new Error('the worker thread ended before the records were counted')))
    .unref()
  return promise
}
