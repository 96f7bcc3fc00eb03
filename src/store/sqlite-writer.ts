import { Worker } from 'node:worker_threads'
import type { Tables } from './tables.ts'

export type WriterJob = {
  readonly table: keyof Tables
  readonly method: string
  readonly args: readonly unknown[]
}
export type WriterResult = { readonly value: unknown } | { readonly failure: WriterFailure }
export type WriterFailure = { readonly name: string; readonly code: string; readonly errcode: number }

/** A write that the database refused. Its text is ours: the database's own may quote what was written. */
export class WriteError extends Error {
  readonly code: string
  readonly errcode: number

  constructor({ name, code, errcode }: WriterFailure) {
    super(`the write failed: ${name} ${code} ${errcode}`)
    this.name = 'WriteError'
    this.code = code
    this.errcode = errcode
  }
}

export type Writer = {
  readonly call: (job: WriterJob) => Promise<unknown>
  readonly close: () => Promise<void>
}

type Waiting = { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }

/**
 * A thread that does all writing of this process. What arrives while a commit is under way shares the next one, so many
 * requests pay for one wait for the disk, and the event loop never waits for it.
 */
export function openWriter(path: string): Writer {
  const worker = new Worker(new URL('./sqlite-worker.ts', import.meta.url), { workerData: path })
  const waiting: Waiting[] = []
  let outbox: WriterJob[] = []
  let closed = false

  worker.on('message', (results: WriterResult[]) => {
    for (const result of results) {
      const { resolve, reject } = waiting.shift() as Waiting
      if ('failure' in result) reject(new WriteError(result.failure))
      else resolve(result.value)
    }
    if (waiting.length === 0) worker.unref()
  })
  const failAll = () => {
    closed = true
    for (const { reject } of waiting.splice(0))
      reject(new WriteError({ name: 'Writer', code: 'ended', errcode: 0 }))
  }
  worker.on('error', failAll).on('exit', failAll)
  worker.unref()

  const post = () => {
    const jobs = outbox
    outbox = []
    worker.postMessage(jobs)
  }
  return {
    call: (job) => {
      if (closed) return Promise.reject(new WriteError({ name: 'Writer', code: 'ended', errcode: 0 }))
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      waiting.push({ resolve, reject })
      worker.ref()
      // Calls of one turn of the event loop travel together.
      if (outbox.push(job) === 1) setImmediate(post)
      return promise
    },
    close: async () => {
      while (waiting.length > 0) await new Promise((done) => setImmediate(done))
      closed = true
      const ended = new Promise((done) => worker.once('exit', done))
      worker.ref()
      worker.postMessage('close')
      await ended
    },
  }
}
