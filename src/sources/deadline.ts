/**
 * A signal that ends after a time, or when another does. Unlike AbortSignal.timeout it is over when its work is: under load,
 * thousands of timers would otherwise keep what was asked in memory for seconds after the answer.
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
