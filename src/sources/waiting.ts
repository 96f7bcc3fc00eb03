import type { Permit } from './guard/call-guard.ts'
import { SourceError } from './source.ts'

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

/** Fails at the deadline even when the source ignores the signal. */
export const untilAborted = <T>(
  name: string,
  work: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> =>
  orWhenAborted(work, signal, () => {
    throw new SourceError(name, 'timeout', { problem: 'too_slow', fault: 'deadline' })
  })

/** The result of the work, or of `otherwise` when the signal aborts first. */
export function orWhenAborted<T, R>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  otherwise: () => R,
): Promise<T | R> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    // Work that obeys the signal fails in the same turn with a more precise error, so it goes first.
    const end = () => setImmediate(() => Promise.try(otherwise).then(resolve, reject))
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
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
