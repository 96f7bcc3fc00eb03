import { createBoundedMap } from './bounded-map.ts'

/** What is left of the limit of a key in its current minute. */
export type Allowance = { readonly allowed: boolean; readonly remaining: number; readonly resetS: number }

export type RateLimit = {
  readonly limit: number
  readonly take: (key: string) => Allowance | Promise<Allowance>
  readonly close?: () => void
}

/** Requests granted from a minute, how many are left in it, and when it ends. */
export type Lease = { readonly tokens: number; readonly left: number; readonly endsInMs: number }

export type Windows = { readonly take: (key: string, wanted: number) => Lease }

const WINDOW_MS = 60_000
const MAX_KEYS = 200_000

/** Requests per key in a minute that starts with the key's first request. Held in memory. */
export function createWindows(limit: number, now = () => performance.now()): Windows {
  const windows = createBoundedMap<string, { used: number; endsAt: number }>(MAX_KEYS)
  const open = (key: string, at: number) => {
    const window = { used: 0, endsAt: at + WINDOW_MS }
    windows.set(key, window)
    return window
  }
  return {
    take: (key, wanted) => {
      // Whole milliseconds: the sum of fractions would be rounded, and a new window would end in 61 seconds.
      const at = Math.floor(now())
      const known = windows.get(key)
      const window = known && known.endsAt > at ? known : open(key, at)
      const tokens = Math.min(wanted, limit - window.used)
      window.used += tokens
      return { tokens, left: limit - window.used, endsInMs: window.endsAt - at }
    },
  }
}

/** For one process. */
export function createRateLimit(limit: number, now = () => performance.now()) {
  const windows = createWindows(limit, now)
  return {
    limit,
    take: (key: string): Allowance => {
      const { tokens, left, endsInMs } = windows.take(key, 1)
      return { allowed: tokens === 1, remaining: left, resetS: Math.max(1, Math.ceil(endsInMs / 1000)) }
    },
  }
}
