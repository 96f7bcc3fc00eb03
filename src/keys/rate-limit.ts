import { createBoundedMap } from './bounded-map.ts'

/** Where a key stands in its minute. */
export type Allowance = { readonly allowed: boolean; readonly remaining: number; readonly resetS: number }

export type RateLimit = { readonly limit: number; readonly take: (keyId: string) => Allowance }

const WINDOW_MS = 60_000
const MOST_KEYS = 200_000

/** Requests per key in a minute that starts with the key's first request. Held in memory, per process. */
export function createRateLimit(limit: number, now = () => performance.now()): RateLimit {
  const windows = createBoundedMap<string, { used: number; endsAt: number }>(MOST_KEYS)
  const open = (keyId: string, at: number) => {
    const window = { used: 0, endsAt: at + WINDOW_MS }
    windows.set(keyId, window)
    return window
  }
  return {
    limit,
    take: (keyId) => {
      const at = now()
      const known = windows.get(keyId)
      const window = known && known.endsAt > at ? known : open(keyId, at)
      const allowed = window.used < limit
      if (allowed) window.used += 1
      return {
        allowed,
        remaining: limit - window.used,
        resetS: Math.max(1, Math.ceil((window.endsAt - at) / 1000)),
      }
    },
  }
}
