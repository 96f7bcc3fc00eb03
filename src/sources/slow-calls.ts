import { isPaid, type Permit } from './guard/call-guard.ts'
import type { Answer, SourceError } from './source.ts'

/** Calls of one search that may be billed. */
export const MAX_PAID = 2

export type Outcome<T> = { readonly answer: Answer<T> } | { readonly failure: SourceError }

/** The calls that the search no longer waits for. Each counts as paid until it is known that it is not. */
export function createSlowCalls(paid: { calls: number }) {
  /** The ends of those that have not ended. */
  const running = new Set<Promise<void>>()
  return {
    add: <T>(outcome: Promise<Outcome<T>>, record: (settled: Outcome<T>) => void): void => {
      paid.calls += 1
      const recordEnd = (settled: Outcome<T>) => {
        record(settled)
        if ('failure' in settled && !isPaid(settled.failure)) paid.calls -= 1
      }
      const ending = outcome.then(recordEnd, () => {}).finally(() => running.delete(ending))
      running.add(ending)
    },
    /** Waits until another call may be paid for. False if none may, or it is over before. */
    becomeUnpaid: async (isOver: () => boolean): Promise<boolean> => {
      while (paid.calls >= MAX_PAID && running.size > 0 && !isOver()) await Promise.race(running)
      return paid.calls < MAX_PAID && !isOver()
    },
  }
}

/** The outcome of a call, or undefined when it is slow and the next source should be queried as well. */
export async function waitUntilHedge<T>(outcome: Promise<T>, permit: Permit): Promise<T | undefined> {
  for (;;) {
    const ms = permit.hedgeAfterMs()
    // Also when it is due: an answer that has arrived is read before a second call is paid for.
    const settled = await within(outcome, Math.max(ms, 0))
    if (settled !== undefined) return settled
    if (ms <= 0) break
  }
  permit.recordHang()
  return undefined
}

/** Undefined when the work takes longer. */
async function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  // Immediates run after sockets were read.
  const timer = setTimeout(() => setImmediate(resolve, undefined), ms)
  // The search may end without awaiting it again: its failure must not become an unhandled rejection.
  work.catch(() => {})
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
