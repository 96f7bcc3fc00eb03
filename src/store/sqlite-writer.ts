import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { openWorkerThread } from '../assets/worker-thread.ts'
import { UserError } from '../errors.ts'
import type { Tables } from './tables.ts'

export type WriterJob = {
  readonly table: keyof Tables
  readonly method: string
  readonly args: readonly unknown[]
}
export type WriterResult = { readonly value: unknown } | { readonly failure: WriterFailure }
export type WriterFailure = {
  readonly name: string
  readonly code: string
  readonly errcode: number
  /** Our own words, where the failure has some. */
  readonly refusal?: string | undefined
}

/** A write that the database refused. Its text is ours: the database's own may quote what was written. */
export class WriteError extends Error {
  readonly code: string
  readonly errcode: number

  constructor({ name, code, errcode }: WriterFailure, options?: ErrorOptions) {
    super(`the write failed: ${name} ${code} ${errcode}`, options)
    this.name = 'WriteError'
    // The log shows the code: 13 is a full disk, 5 a locked database, 10 (and 10 + 256 n) a disk that fails.
    this.code = errcode === 0 ? code : `${code} ${errcode}`
    this.errcode = errcode
  }
}

/** What the thread says unasked: the files were removed or replaced. */
export type WriterAlarm = { readonly alarm: WriterFailure }

export type Writer = {
  readonly call: (job: WriterJob) => Promise<unknown>
  /** Finishes what was asked for. */
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
 * A thread that does all writing of this process. What arrives while a commit is under way shares the next one, so many
 * requests pay for one wait for the disk, and the event loop never waits for it. `onFailure` hears of every write that the
 * database refused, also where its caller does not care.
 */
export function openWriter(path: string, { timeoutMs, onFailure = () => {} }: WriterOptions = {}): Writer {
  const cache = getCompileCacheDir()
  const worker = openWorkerThread('sqlite-writer', {
    workerData: { path, timeoutMs } satisfies WriterData,
    // Compiled sources are not shared by themselves: without them a thread takes twice as long and 20 MB more to start.
    ...(cache === undefined ? {} : { env: { NODE_COMPILE_CACHE: dirname(cache) } }),
  })
  /** Results come in the order of the calls. */
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
      // One of them cannot be sent to a thread; the others can.
      if (calls.length > 1) for (const call of calls) send([call])
      else calls[0]?.reject(new WriteError(NOT_SENT, { cause }))
    }
  }
  const post = () => {
    const calls = outbox
    outbox = []
    if (calls.length > 0) send(calls)
  }
  return {
    call: (job) => {
      if (closed) return Promise.reject(new WriteError(ENDED))
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      // Calls of one turn of the event loop travel together.
      if (outbox.push({ job, resolve, reject }) === 1) setImmediate(post)
      return promise
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
  failure.refusal === undefined ? new WriteError(failure) : new UserError(failure.refusal)
