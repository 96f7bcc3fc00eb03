import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { openWorkerThread } from '../assets/worker-thread.ts'
import { UserError } from '../errors.ts'

export type WriterJob = {
  readonly table: string
  readonly method: string
  readonly args: readonly unknown[]
}
export type WriterResult = { readonly value: unknown } | { readonly failure: WriterFailure }
export type WriterFailure = {
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
