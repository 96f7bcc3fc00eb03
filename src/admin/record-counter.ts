import type { Worker } from 'node:worker_threads'
import { openWorkerThread } from '../assets/worker-thread.ts'
import type { Context } from '../context/context.ts'
import type { RegistryCounts } from '../registry/stats.ts'

/** Counts the records in a thread of its own: it takes seconds where there are millions, and nobody may wait for it. */
export type RecordCounter = {
  readonly read: () => Promise<RegistryCounts>
  readonly close: () => Promise<void>
}

/** What took long to count is counted less often. */
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
      if (!counted || performance.now() > until) counted = count()
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
    .once('exit', () => reject(new Error('the counting of the records was ended')))
    .unref()
  return promise
}
