import { setTimeout as pause } from 'node:timers/promises'
import { AdminError } from '../contract/error.ts'
import type { Exchange } from '../http/exchange.ts'
import type { AdminRoute } from './route.ts'

/** Browsers open at most six HTTP/1.1 connections to a host. */
const EVENTS = { perSession: 8, inTotal: 200 }
/** Each reads the database for as long as it lasts. */
const EXPORTS = { perSession: 2, inTotal: 4 }

type StreamLimit = (
  stream: NonNullable<AdminRoute['stream']>,
  session: string,
  exchange: Pick<Exchange, 'response'>,
) => void

/** Limits open streams: each event stream polls every two seconds, and exports read much. */
export function createStreamLimit(): StreamLimit {
  const limits = { events: createLimit(EVENTS), exports: createLimit(EXPORTS) }
  return (stream, session, { response }) => {
    const release = limits[stream === 'text/event-stream' ? 'events' : 'exports'](session)
    // A client that has left while its session was looked up: the event is over.
    if (response.destroyed) release()
    else response.once('close', release)
  }
}

const CHECK_MS = 1000

/** Breaks an export off when the session ends or the account loses its role. Browsers then report that the file is not whole. */
export async function* whileAllowed<T>(
  pieces: AsyncIterable<T>,
  isStillAllowed: () => Promise<boolean>,
): AsyncIterable<T> {
  let checkedAt = performance.now()
  for await (const piece of pieces) {
    if (performance.now() - checkedAt >= CHECK_MS) {
      if (!(await isStillAllowed())) throw new AdminError('signed_out')
      checkedAt = performance.now()
    }
    yield piece
  }
}

/** Takes a place, and returns what frees it. */
function createLimit({ perSession, inTotal }: typeof EVENTS) {
  const counts = new Map<string, number>()
  let total = 0
  const add = (session: string, change: number) => {
    const count = (counts.get(session) ?? 0) + change
    if (count > 0) counts.set(session, count)
    else counts.delete(session)
    total += change
  }
  return (session: string) => {
    if ((counts.get(session) ?? 0) >= perSession || total >= inTotal) throw new AdminError('too_many_streams')
    add(session, 1)
    return () => add(session, -1)
  }
}

/** Short enough for a caller to wait. */
const STEP_MS = 10
/** A long step waited for a disk or the database rather than worked. */
const MAX_PAUSE_MS = 100

/**
 * All exports of the process together take half of its time: after some milliseconds of work they pause for as long, so that callers
 * are answered. An export whose reader waits does not delay the others.
 */
export function createPace() {
  let turn: Promise<unknown> = Promise.resolve()
  let workedMs = 0
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      workedMs += performance.now() - startedAt
      if (workedMs >= STEP_MS) {
        await pause(Math.min(workedMs, MAX_PAUSE_MS))
        workedMs = 0
      }
    }
  }
  return async function* <T>(pieces: AsyncIterable<T>): AsyncIterable<T> {
    const iterator = pieces[Symbol.asyncIterator]()
    try {
      for (;;) {
        const next = turn.then(() => step(() => iterator.next()))
        turn = next.catch(() => {})
        const { done = false, value } = await next
        if (done) return
        yield value
      }
    } finally {
      await iterator.return?.()
    }
  }
}
