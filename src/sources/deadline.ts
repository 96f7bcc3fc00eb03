import { afterRunning } from '../telemetry/running-clock.ts'

/**
 * Runs work with a signal that aborts after a time, or when the outer signal does. Time during which our own process stood still does
 * not count, and what has arrived by then is read first. Unlike AbortSignal.timeout it clears its timer when the work ends: under load,
 * thousands of timers would keep requests in memory for seconds.
 */
export async function withDeadline<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  const controller = new AbortController()
  const end = () => controller.abort()
  if (outer?.aborted) end()
  outer?.addEventListener('abort', end, { once: true })
  let lastTurn: NodeJS.Immediate | undefined
  const cancel = afterRunning(ms, () => {
    // Immediates run after sockets were read.
    lastTurn = setImmediate(end)
  })
  try {
    return await work(controller.signal)
  } finally {
    cancel()
    clearImmediate(lastTurn)
    outer?.removeEventListener('abort', end)
  }
}

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
