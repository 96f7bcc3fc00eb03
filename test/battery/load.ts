import { createClient } from './client.ts'
import type { Ledger, Wish } from './ledger.ts'
import type { Place } from './place.ts'

/** Concurrent clients. */
export const WAYS = 32

/** A refused client retries after this time. */
const PAUSE_MS = 20
const MAX_WAIT_MS = 60_000

export type Load = {
  /** Resolves after this many more answers or refusals with audit_unavailable. */
  readonly until: (what: 'acknowledged' | 'unavailable', more: number) => Promise<void>
  /** Sends no new requests; resolves when all running ones have ended. */
  readonly stop: () => Promise<void>
}

export type Callers = {
  /** Thirty-two clients that send until stopped. */
  readonly start: (url: string) => Load
  /** Sends each of these once, thirty-two at a time. */
  readonly ask: (url: string, wishes: readonly Wish[]) => Promise<void>
  /** Repeats the unanswered ones until all are answered or the time is over. */
  readonly askUntilAnswered: (url: string, waitMs: number) => Promise<void>
  readonly close: () => void
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms))

export function createCallers(ledger: Ledger, place: Place, ca?: string): Callers {
  const client = createClient(WAYS, ca)

  /** Records the answer, if there is one: a killed server gives none. */
  const askOne = async (url: string, wish: Wish): Promise<number> => {
    const headers = {
      authorization: `Bearer ${place.keys[wish.mode]}`,
      ...(wish.header === undefined ? {} : { 'idempotency-key': wish.header }),
    }
    try {
      const reply = await client.post(`${url}/api/v2/kyc/verify-${wish.operation}`, wish.payload, headers)
      ledger.note(wish, reply)
      return reply.status
    } catch {
      return 0
    }
  }

  const ask = async (url: string, wishes: readonly Wish[]) => {
    const left = [...wishes]
    const call = async () => {
      for (let wish = left.pop(); wish; wish = left.pop()) await askOne(url, wish)
    }
    await Promise.all(Array.from({ length: WAYS }, call))
  }

  return {
    ask,
    start: (url) => startLoad(ledger, (wish) => askOne(url, wish)),
    askUntilAnswered: async (url, waitMs) => {
      const until = performance.now() + waitMs
      while (ledger.unanswered().length > 0 && performance.now() < until) {
        await ask(url, ledger.unanswered())
        if (ledger.unanswered().length > 0) await pause(250)
      }
    },
    close: client.close,
  }
}

function startLoad(ledger: Ledger, askOne: (wish: Wish) => Promise<number>): Load {
  let running = true
  const waiting = new Set<() => void>()
  const call = async () => {
    while (running) {
      const status = await askOne(ledger.next())
      for (const look of waiting) look()
      if (status === 0 || status === 503) await pause(PAUSE_MS)
    }
  }
  const callers = Array.from({ length: WAYS }, call)
  return {
    until: (what, more) => {
      const goal = ledger.counts[what] + more
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const giveUp = () => reject(new Error(`not ${more} more ${what} within ${MAX_WAIT_MS} ms`))
      const timer = setTimeout(giveUp, MAX_WAIT_MS)
      const look = () => {
        if (ledger.counts[what] < goal) return
        clearTimeout(timer)
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
      return promise
    },
    stop: async () => {
      running = false
      await Promise.all(callers)
    },
  }
}
