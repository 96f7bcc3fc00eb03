import { once } from 'node:events'
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import type { MessagePort, Worker } from 'node:worker_threads'
import { openWorkerThread } from '../assets/worker-thread.ts'
import { UserError } from '../errors.ts'
import type { Database } from './database.ts'
import { openSqlite, type Sqlite } from './sqlite.ts'

type WriterJob = {
  readonly table: string
  readonly method: string
  readonly args: readonly unknown[]
}
type WriterResult = { readonly value: unknown } | { readonly failure: WriterFailure }
type WriterFailure = {
  readonly name: string
  readonly code: string
  readonly errcode: number
  /** The message of a UserError. */
  readonly userMessage?: string | undefined
}

/** A write that failed. Its message is ours: the message of the database may quote the values. */
export class WriteError extends Error {
  readonly code: string
  readonly errcode: number

  constructor({ name, code, errcode }: WriterFailure, options?: ErrorOptions) {
    super(`the write failed: ${name} ${code} ${errcode}`, options)
    this.name = 'WriteError'
    // Shown in the log: 13 is a full disk, 5 a locked database, 10 (and 10 + 256 n) a disk error.
    this.code = errcode === 0 ? code : `${code} ${errcode}`
    this.errcode = errcode
  }
}

/** Sent by the thread on its own: the files were removed or replaced. */
type WriterAlarm = { readonly alarm: WriterFailure }

export type Writer = {
  /** Calls of one turn of the event loop are sent together, at its end. */
  readonly call: (job: WriterJob) => Promise<unknown>
  /** Sent at once, with the calls before it. */
  readonly callNow: (job: WriterJob) => Promise<unknown>
  /** Finishes the pending jobs first. */
  readonly close: () => Promise<void>
}

export type WriterData = { readonly path: string; readonly timeoutMs: number | undefined }

type WriterOptions = {
  readonly timeoutMs?: number | undefined
  readonly onFailure?: (error: Error) => void
}

type Call = {
  readonly job: WriterJob
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

const ENDED: WriterFailure = { name: 'Writer', code: 'ended', errcode: 0 }
const NOT_SENT: WriterFailure = { name: 'Writer', code: 'not sent', errcode: 0 }

/**
 * A thread that does all writing of this process. Jobs that arrive during a commit share the next one, so that many requests
 * share one wait for the disk, and the event loop never waits. `onFailure` is called with every failed write, also when the
 * caller ignores it.
 */
export function openWriter(path: string, { timeoutMs, onFailure = () => {} }: WriterOptions = {}): Writer {
  const cache = getCompileCacheDir()
  const worker = openWorkerThread('sqlite-writer', {
    workerData: { path, timeoutMs } satisfies WriterData,
    // Without the compile cache, a thread takes twice as long and 20 MB more to start.
    ...(cache === undefined ? {} : { env: { NODE_COMPILE_CACHE: dirname(cache) } }),
  })
  /** Results arrive in the order of the calls. */
  const sent: Call[] = []
  let outbox: Call[] = []
  let closed = false
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()

  const fail = (failure: WriterFailure): Error => {
    const error = toError(failure)
    onFailure(error)
    return error
  }
  worker.on('message', (results: WriterResult[] | WriterAlarm) => {
    if ('alarm' in results) return void fail(results.alarm)
    for (const [index, call] of sent.splice(0, results.length).entries()) {
      const result = results[index] as WriterResult
      if ('failure' in result) call.reject(fail(result.failure))
      else call.resolve(result.value)
    }
    if (sent.length === 0 && !closed) worker.unref()
  })
  const failAll = (cause?: unknown) => {
    closed = true
    for (const { reject } of [...sent.splice(0), ...outbox.splice(0)])
      reject(new WriteError(ENDED, { cause }))
  }
  worker.on('error', failAll).on('exit', () => {
    failAll()
    end()
  })
  worker.unref()

  const send = (calls: readonly Call[]): void => {
    try {
      worker.postMessage(calls.map(({ job }) => job))
      sent.push(...calls)
      worker.ref()
    } catch (cause) {
      // One job cannot be cloned to the thread; send the others alone.
      if (calls.length > 1) for (const call of calls) send([call])
      else calls[0]?.reject(new WriteError(NOT_SENT, { cause }))
    }
  }
  const post = () => {
    const calls = outbox
    outbox = []
    if (calls.length > 0) send(calls)
  }
  const add = (job: WriterJob): Promise<unknown> => {
    if (closed) return Promise.reject(new WriteError(ENDED))
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    outbox.push({ job, resolve, reject })
    return promise
  }
  return {
    call: (job) => {
      if (outbox.length === 0) setImmediate(post)
      return add(job)
    },
    callNow: (job) => {
      const result = add(job)
      post()
      return result
    },
    close: async () => {
      closed = true
      worker.ref()
      post()
      worker.postMessage('close')
      await ended
    },
  }
}

const toError = (failure: WriterFailure) =>
  failure.userMessage === undefined ? new WriteError(failure) : new UserError(failure.userMessage)

/** At most this many jobs share one commit. */
const MAX_JOBS = 512

/** Removed or replaced files are detected within this time, even when nothing is written. */
const CHECK_EVERY_MS = 250

type Methods = Record<string, (...args: readonly unknown[]) => Promise<unknown>>

/** The side of the thread: does the jobs that arrive at the port, until it is told to close. */
export function runWriter(
  port: MessagePort,
  { path, timeoutMs }: WriterData,
  createTables: (database: Database) => object,
): void {
  const database = openSqlite(path, { timeoutMs, mustExist: true })
  const walCheckpoints = createWalCheckpoints(path)
  const queue: WriterJob[] = []
  const commit = createCommit(database, createTables(database.tx), queue)
  let running: Promise<void> | undefined

  const timer = setInterval(() => {
    try {
      database.checkFiles()
    } catch (error) {
      clearInterval(timer)
      port.postMessage({ alarm: toFailure(error) })
    }
  }, CHECK_EVERY_MS).unref()

  const work = async () => {
    while (queue.length > 0) {
      const jobs = queue.splice(0, MAX_JOBS)
      port.postMessage(await commit(jobs))
      walCheckpoints.onCommit(database.countPendingFrames)
      // Receives the messages that arrived meanwhile: their jobs share the next commit.
      await new Promise((done) => setImmediate(done))
    }
    running = undefined
  }
  /** Ends after the last job. The port is closed last, after all results were sent. */
  const close = async () => {
    clearInterval(timer)
    await running
    await walCheckpoints.close()
    await database.close()
    port.close()
  }
  port.on('message', (message: WriterJob[] | 'close') => {
    if (message === 'close') {
      void close()
      return
    }
    for (const job of message) queue.push(job)
    running ??= work()
  })
}

/**
 * Runs jobs in one transaction. A job that fails is rolled back alone. A commit that fails rolls back all jobs, and the queued
 * jobs fail as well, so that no caller waits for a locked database twice.
 */
function createCommit(database: Sqlite, tables: object, queue: WriterJob[]) {
  const call = async ({ table, method, args }: WriterJob): Promise<unknown> =>
    (tables as Record<string, Methods>)[table]?.[method]?.(...args)

  const perform = async (job: WriterJob): Promise<WriterResult> => {
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
  const rollBackJob = (error: unknown) => {
    try {
      database.exec('ROLLBACK TO job')
      database.exec('RELEASE job')
    } catch {
      // SQLite has rolled back the whole transaction, for example because the disk is full.
      throw error
    }
  }
  return async (jobs: readonly WriterJob[]): Promise<WriterResult[]> => {
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
