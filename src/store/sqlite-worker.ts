import { parentPort, workerData } from 'node:worker_threads'
import { UserError } from '../errors.ts'
import { openSqlite } from './sqlite.ts'
import type { WriterData, WriterFailure, WriterJob, WriterResult } from './sqlite-writer.ts'
import { createTables } from './tables.ts'

/** Most jobs in one commit. */
const MOST_JOBS = 512

const { path, timeoutMs } = workerData as WriterData
const database = openSqlite(path, timeoutMs)
const tables = createTables(database.inside)
const queue: WriterJob[] = []
let running: Promise<void> | undefined

/** Files that were removed or replaced are noticed within so long, also when nothing is written. */
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
    const jobs = queue.splice(0, MOST_JOBS)
    parentPort?.postMessage(await commit(jobs))
    // Lets the messages in that came meanwhile: they share the next commit.
    await new Promise((done) => setImmediate(done))
  }
  running = undefined
}

/** After the last job. The port is closed last, when all results are on their way. */
async function close(): Promise<void> {
  clearInterval(timer)
  await running
  await database.close()
  parentPort?.close()
}

/**
 * One transaction for all jobs. A job that fails takes nothing but itself back; a commit that fails takes all back, and
 * what waits behind it fails with it: nobody waits for a locked database twice.
 */
async function commit(jobs: readonly WriterJob[]): Promise<WriterResult[]> {
  try {
    return await database.transaction(async () => {
      const results: WriterResult[] = []
      for (const job of jobs) results.push(await perform(job))
      return results
    })
  } catch (error) {
    return [...jobs, ...queue.splice(0)].map(() => ({ failure: toFailure(error) }))
  }
}

async function perform({ table, method, args }: WriterJob): Promise<WriterResult> {
  database.exec('SAVEPOINT job')
  try {
    const call = (
      tables[table] as unknown as Record<string, (...args: readonly unknown[]) => Promise<unknown>>
    )[method]
    const value = await call?.(...args)
    database.exec('RELEASE job')
    return { value }
  } catch (error) {
    takeBack(error)
    return { failure: toFailure(error) }
  }
}

function takeBack(error: unknown): void {
  try {
    database.exec('ROLLBACK TO job')
    database.exec('RELEASE job')
  } catch {
    // SQLite has ended the whole transaction, for want of room on the disk or the like.
    throw error
  }
}

function toFailure(error: unknown): WriterFailure {
  const { name = 'Error', code = '', errcode = 0 } = error as Partial<WriterFailure>
  return { name, code, errcode, refusal: error instanceof UserError ? error.message : undefined }
}
