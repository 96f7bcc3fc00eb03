import { parentPort, workerData } from 'node:worker_threads'
import { openSqlite } from './sqlite.ts'
import type { WriterFailure, WriterJob, WriterResult } from './sqlite-writer.ts'
import { createTables } from './tables.ts'

/** Most jobs in one commit. */
const MOST_JOBS = 512

const database = openSqlite(String(workerData))
const tables = createTables(database.inside)
const queue: WriterJob[] = []
let running = false

parentPort?.on('message', (message: WriterJob[] | 'close') => {
  if (message === 'close') {
    void database.close().then(() => process.exit())
    return
  }
  queue.push(...message)
  if (!running) void work()
})

async function work(): Promise<void> {
  running = true
  while (queue.length > 0) {
    const jobs = queue.splice(0, MOST_JOBS)
    parentPort?.postMessage(await commit(jobs))
    // Lets the messages in that came meanwhile: they share the next commit.
    await new Promise((done) => setImmediate(done))
  }
  running = false
}

/** One transaction for all jobs. A job that fails takes nothing but itself back; a commit that fails takes all back. */
async function commit(jobs: readonly WriterJob[]): Promise<WriterResult[]> {
  try {
    database.exec('BEGIN IMMEDIATE')
    const results: WriterResult[] = []
    for (const job of jobs) results.push(await perform(job))
    database.exec('COMMIT')
    return results
  } catch (error) {
    try {
      database.exec('ROLLBACK')
    } catch {
      // The transaction had ended with the failure.
    }
    return jobs.map(() => ({ failure: toFailure(error) }))
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
    database.exec('ROLLBACK TO job')
    database.exec('RELEASE job')
    return { failure: toFailure(error) }
  }
}

function toFailure(error: unknown): WriterFailure {
  const { name = 'Error', code = '', errcode = 0 } = error as Partial<WriterFailure>
  return { name, code, errcode }
}
