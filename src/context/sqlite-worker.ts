import { once } from 'node:events'
import { parentPort, type Worker, workerData } from 'node:worker_threads'
import { openWorkerThread } from '../assets/worker-thread.ts'
import { openSqlite } from '../database/sqlite.ts'
import type { WriterData, WriterFailure, WriterJob, WriterResult } from '../database/sqlite-writer.ts'
import { UserError } from '../errors.ts'
import { createTables, type Tables } from './tables.ts'

/** At most this many jobs share one commit. */
const MAX_JOBS = 512

const { path, timeoutMs } = workerData as WriterData
const database = openSqlite(path, { timeoutMs, mustExist: true })
const tables = createTables(database.tx)
const walCheckpoints = createWalCheckpoints(path)
const queue: WriterJob[] = []
let running: Promise<void> | undefined

/** Removed or replaced files are detected within this time, even when nothing is written. */
const CHECK_EVERY_MS = 250

const timer = setInterval(() => {
  try {
    database.checkFiles()
  } catch (error) {
    clearInterval(timer)
    parentPort?.postMessage({ alarm: toFailure(error) })
  }
}, CHECK_EVERY_MS).unref()

parentPort?.on('message', (message: WriterJob[] | 'close') => {
  if (message === 'close') {
    void close()
    return
  }
  for (const job of message) queue.push(job)
  running ??= work()
})

async function work(): Promise<void> {
  while (queue.length > 0) {
    const jobs = queue.splice(0, MAX_JOBS)
    parentPort?.postMessage(await commit(jobs))
    walCheckpoints.onCommit(database.countPendingFrames)
    // Receives the messages that arrived meanwhile: their jobs share the next commit.
    await new Promise((done) => setImmediate(done))
  }
  running = undefined
}

/** Ends after the last job. The port is closed last, after all results were sent. */
async function close(): Promise<void> {
  clearInterval(timer)
  await running
  await walCheckpoints.close()
  await database.close()
  parentPort?.close()
}

/**
 * Runs all jobs in one transaction. A job that fails is rolled back alone. A commit that fails rolls back all jobs, and the
 * queued jobs fail as well, so that no caller waits for a locked database twice.
 */
async function commit(jobs: readonly WriterJob[]): Promise<WriterResult[]> {
  let failure: WriterFailure | undefined
  try {
    return await database.transaction(async () => {
      const [first] = jobs
      if (first && jobs.length === 1) {
        // Without a savepoint, for which SQLite would copy every page before it is changed.
        const value = await call(first).catch((error) => {
          failure = toFailure(error)
          throw error
        })
        return [{ value }]
      }
      const results: WriterResult[] = []
      for (const job of jobs) results.push(await perform(job))
      return results
    })
  } catch (error) {
    if (failure) return [{ failure }]
    return [...jobs, ...queue.splice(0)].map(() => ({ failure: toFailure(error) }))
  }
}

async function perform(job: WriterJob): Promise<WriterResult> {
  database.exec('SAVEPOINT job')
  try {
    const value = await call(job)
    database.exec('RELEASE job')
    return { value }
  } catch (error) {
    rollBackJob(error)
    return { failure: toFailure(error) }
  }
}

type Methods = Record<string, (...args: readonly unknown[]) => Promise<unknown>>

async function call({ table, method, args }: WriterJob): Promise<unknown> {
  return (tables[table as keyof Tables] as unknown as Methods)[method]?.(...args)
}

function rollBackJob(error: unknown): void {
  try {
    database.exec('ROLLBACK TO job')
    database.exec('RELEASE job')
  } catch {
    // SQLite has rolled back the whole transaction, for example because the disk is full.
    throw error
  }
}

function toFailure(error: unknown): WriterFailure {
  const { name = 'Error', code = '', errcode = 0 } = error as Partial<WriterFailure>
  return { name, code, errcode, userMessage: error instanceof UserError ? error.message : undefined }
}

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
function createWalCheckpoints(path: string): WalCheckpoints {
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
