/** The time that a vendor asked for by Retry-After. It holds for all operations of the source. */
export type Cooldown = {
  readonly start: (ms: number) => void
  /** 0 when the source may be called. */
  readonly remainingMs: () => number
}

export function createCooldown(now: () => number = () => performance.now()): Cooldown {
  let until = Number.NEGATIVE_INFINITY
  return {
    start: (ms) => {
      until = Math.max(until, now() + ms)
    },
    remainingMs: () => Math.max(0, until - now()),
  }
}
