import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { openWorkerThread } from '../assets/worker-thread.ts'
import type { Database } from '../database/database.ts'
import type { Checkpoint } from './audit-table.ts'
import { APPEND_CHECKPOINT, PAGE_OF_CHECKPOINTS } from './witness-file.ts'
import type { WitnessReply, WitnessWorkerData } from './witness-worker.ts'

/** The second database of a witness: checkpoints can be added to it and read from it. */
export type WitnessLog = {
  /** Durable when it resolves. Throws an error whose `code` says why not. */
  readonly append: (checkpoints: readonly Checkpoint[], signal: AbortSignal) => Promise<void>
  readonly close: () => Promise<void>
}

class WitnessFailure extends Error {
  readonly code: string

  constructor(code: string) {
    super(`the witness failed: ${code}`)
    this.name = 'WitnessFailure'
    this.code = code
  }
}

/** SQLite, in a thread: the disk of the witness may be slow or hang, and requests must not wait for it. */
export function openWitnessThread(path: string): WitnessLog {
  let worker: Worker | undefined
  const end = async () => {
    const ended = worker
    worker = undefined
    await ended?.terminate()
  }
  return {
    append: async (checkpoints, signal) => {
      worker ??= openWorkerThread('witness', { workerData: { path } satisfies WitnessWorkerData })
      // At shutdown nothing else may keep the process alive.
      worker.ref()
      worker.postMessage(checkpoints)
      try {
        const [{ failure }] = (await once(worker, 'message', { signal })) as [WitnessReply]
        worker.unref()
        if (failure !== null) throw new WitnessFailure(failure)
      } catch (error) {
        if (error instanceof WitnessFailure) throw error
        // It hangs, or has crashed. The next attempt starts a new one.
        await end()
        throw new WitnessFailure('no answer')
      }
    },
    close: end,
  }
}

const CONNECT_WAIT_MS = 2000

const openDatabase = async (url: string): Promise<Database> =>
  (await import('../database/postgres.ts'))
    .openPostgres(url, { connections: 1, startWaitMs: CONNECT_WAIT_MS })
    .catch(() => {
      throw new WitnessFailure('no connection')
    })

/** PostgreSQL. Connected when it is first needed, and after a failure again. */
export function openWitnessPostgres(url: string): WitnessLog {
  let database: Promise<Database> | undefined
  const end = async () => {
    const ended = database
    database = undefined
    await ended?.then((each) => each.close()).catch(() => {})
  }
  return {
    append: async (checkpoints) => {
      database ??= openDatabase(url)
      try {
        const values = checkpoints.map(({ time, body, signature }) => [time, body, signature])
        await (await database).transaction((inside) => inside.prepare(APPEND_CHECKPOINT).runAll(values))
      } catch (error) {
        await end()
        throw error
      }
    },
    close: end,
  }
}

export async function* readWitnessPostgres(url: string): AsyncIterable<Checkpoint[]> {
  const database = await openDatabase(url)
  try {
    for (let last = { time: '', signature: '' }; ; ) {
      const page = (await database
        .prepare(PAGE_OF_CHECKPOINTS)
        .all(last.time, last.signature)) as unknown as Checkpoint[]
      const end = page.at(-1)
      if (!end) return
      yield page
      last = end
    }
  } finally {
    await database.close()
  }
}
