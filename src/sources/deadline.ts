/**
 * Runs work with a signal that aborts after a time, or when the outer signal does. Unlike AbortSignal.timeout it clears its
 * timer when the work ends: under load, thousands of timers would keep requests in memory for seconds.
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
  const timer = setTimeout(end, ms)
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    outer?.removeEventListener('abort', end)
  }
}
