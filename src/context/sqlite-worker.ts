import { parentPort, workerData } from 'node:worker_threads'
import { openSqlite } from '../database/sqlite.ts'
import type { WriterData, WriterFailure, WriterJob, WriterResult } from '../database/sqlite-writer.ts'
import { createWalCheckpoints } from '../database/wal-checkpoints.ts'
import { UserError } from '../errors.ts'
import { createTables, type Tables } from './tables.ts'

/** At most this many jobs share one commit. */
const MAX_JOBS = 512

const { path, timeoutMs } = workerData as WriterData
const database = openSqlite(path, timeoutMs)
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
