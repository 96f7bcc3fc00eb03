const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 8000

/** `Retry-After` as seconds or as a date, which is compared with the clock of the server. */
export function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get('retry-after')?.trim()
  if (!text) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const now = Date.parse(headers.get('date') ?? '')
  const waitMs = Date.parse(text) - (Number.isNaN(now) ? Date.now() : now)
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs)
}

/** Full jitter; after `Retry-After` never earlier than it says. */
export function toDelayMs(retries: number, retryAfterMs = 0): number {
  const longestMs = retryAfterMs > 0 ? FIRST_DELAY_MS : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** retries)
  return retryAfterMs + Math.random() * longestMs
}

/** Waits, or ends early when the signal is aborted. */
export const sleep = (delayMs: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, delayMs)
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
  })
