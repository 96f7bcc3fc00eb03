/** A vendor said by Retry-After that it wants no question for a while. It holds for all operations of the source. */
export type Hold = {
  readonly holdFor: (ms: number) => void
  /** 0 when it may be asked. */
  readonly leftMs: () => number
}

export function createHold(now: () => number = () => performance.now()): Hold {
  let until = Number.NEGATIVE_INFINITY
  return {
    holdFor: (ms) => {
      until = Math.max(until, now() + ms)
    },
    leftMs: () => Math.max(0, until - now()),
  }
}
