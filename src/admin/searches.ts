import type { Worker } from 'node:worker_threads'
import { openWorkerThread } from '../assets/worker-thread.ts'
import { toPublicKey } from '../audit/open-checkpoint.ts'
import { createSigner } from '../audit/signing.ts'
import type { Context } from '../context/context.ts'
import { AdminError } from '../contract/error.ts'
import { UserError } from '../errors.ts'
import type { SearchAnswer, SearchFunctions, SearchWorkerData } from './search-worker.ts'

type Found<Kind extends keyof SearchFunctions> = Awaited<ReturnType<SearchFunctions[Kind]>>
type Asked<Kind extends keyof SearchFunctions> = Omit<Parameters<SearchFunctions[Kind]>[0], 'publicKey'>

/** Searches in the audit log and the request log, in a thread: a page may take a second of processor time. */
export type Searches = {
  readonly find: <Kind extends keyof SearchFunctions>(kind: Kind, input: Asked<Kind>) => Promise<Found<Kind>>
  readonly close: () => Promise<void>
}

/** The thread has memory and a connection of its own, so it ends when it is not used. */
const IDLE_MS = 60_000

/** The searches that a thread works on, by their numbers. */
type Waiting = Map<number, { resolve: (result: never) => void; reject: (error: unknown) => void }>

export function createSearches({ config, keyring }: Pick<Context, 'config' | 'keyring'>): Searches {
  let thread: { readonly worker: Worker; readonly waiting: Waiting } | undefined
  let idle: NodeJS.Timeout | undefined
  let last = 0
  let isClosed = false

  const end = async () => {
    const ended = thread
    thread = undefined
    clearTimeout(idle)
    await ended?.worker.terminate()
  }
  const start = () => {
    const waiting: Waiting = new Map()
    const worker = startThread(config, waiting)
    worker.once('exit', () => {
      if (thread?.worker === worker) thread = undefined
    })
    thread = { worker, waiting }
    return thread
  }
  return {
    find: async (kind, input) => {
      // Searches that waited for their turn would start another thread, with a connection of its own.
      if (isClosed) throw new Error('the searches were closed')
      clearTimeout(idle)
      const { worker, waiting } = thread ?? start()
      const id = ++last
      const { promise, resolve, reject } = Promise.withResolvers<never>()
      waiting.set(id, { resolve, reject })
      const publicKey = toPublicKey(createSigner(keyring()['audit-signing']).publicKey, 'The key')
      worker.postMessage({ id, kind, input: { ...input, publicKey } })
      try {
        return await promise
      } finally {
        waiting.delete(id)
        if (waiting.size === 0) idle = setTimeout(end, IDLE_MS).unref()
      }
    },
    close: () => {
      isClosed = true
      return end()
    },
  }
}

function startThread(
  { dataDir, databaseUrl, auditArchiveDir: archiveDir, storeTimeout }: Context['config'],
  waiting: Waiting,
): Worker {
  const store = { dataDir, databaseUrl, mustExist: true, isReading: true, timeoutMs: storeTimeout }
  const workerData: SearchWorkerData = { store: { ...store, databaseConnections: 3 }, archiveDir }
  const worker = openWorkerThread('search', { workerData })
  const fail = (error: unknown) => {
    for (const { reject } of waiting.values()) reject(error)
  }
  worker
    .on('message', (answer: SearchAnswer) => {
      const asked = waiting.get(answer.id)
      if ('result' in answer) asked?.resolve(answer.result as never)
      else asked?.reject(toError(answer))
    })
    .once('error', fail)
    .once('exit', () => fail(new Error('the thread of the searches ended')))
    .unref()
  return worker
}

function toError(answer: Exclude<SearchAnswer, { result: unknown }>): Error {
  if ('problem' in answer) return new UserError(answer.problem)
  const { message, ...known } = answer.failure
  return Object.assign(new Error(message), known)
}

const MAX_PER_SESSION = 2
const MAX_IN_TOTAL = 8
const MAX_WAITING_PER_SESSION = 16

type Limit = <T>(session: string, isGone: () => boolean, work: () => Promise<T>) => Promise<T>

/** Two searches of a session at a time. Further ones wait; those of other sessions do not wait for them. */
export function createSearchLimit(): Limit {
  const running: string[] = []
  const waiting: { readonly session: string; readonly start: () => void }[] = []
  const count = (session: string) => running.filter((each) => each === session).length
  const startNext = () => {
    const at = waiting.findIndex(({ session }) => count(session) < MAX_PER_SESSION)
    if (at === -1 || running.length >= MAX_IN_TOTAL) return
    for (const { session, start } of waiting.splice(at, 1)) {
      running.push(session)
      start()
    }
  }
  return async (session, isGone, work) => {
    if (waiting.filter((each) => each.session === session).length >= MAX_WAITING_PER_SESSION)
      throw new AdminError('too_many_searches')
    await new Promise<void>((start) => {
      waiting.push({ session, start })
      startNext()
    })
    try {
      if (isGone()) throw new AdminError('too_many_searches')
      return await work()
    } finally {
      running.splice(running.indexOf(session), 1)
      startNext()
    }
  }
}
