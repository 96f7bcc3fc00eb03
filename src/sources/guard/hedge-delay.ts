/** How long a call may take before the next source is queried as well. Learned per operation of a source. */
export type HedgeDelay = {
  /** The source answered, successfully or not. */
  readonly recordAnswer: () => void
  readonly recordSuccess: (ms: number) => void
  /** 0 or less when the hedge is due. */
  readonly remainingMs: (startedAt: number, isSuspect: boolean) => number
}

/** Enough for a median, few enough to follow a vendor that becomes slower. Not limited in time: some are called rarely. */
const REMEMBERED = 50
const MIN_KNOWN = 5

/** A multiple of the median time, within bounds; `unknown` while there are too few answers. */
type Rule = {
  readonly factor: number
  readonly min: number
  readonly max: number
  readonly unknown: number
}
const USUAL: Rule = { factor: 4, min: 1000, max: 4000, unknown: 2000 }
const SUSPECT: Rule = { factor: 1.5, min: 200, max: 1000, unknown: 1000 }
/** A source that is always slow is not hanging: without this, every call to it would be paid twice. */
const ALWAYS_SLOW = 1.5

/**
 * Uses the median, so that a source that hangs and answers late does not lengthen the delay. While the source answers other
 * calls, the delay starts again, once: then only this call is slow, and a second paid call is saved.
 */
export function createHedgeDelay(now: () => number = () => performance.now()): HedgeDelay {
  const times: number[] = []
  let recorded = 0
  let median: number | undefined
  let answeredAt = Number.NEGATIVE_INFINITY

  const toMs = ({ factor, min, max, unknown }: Rule) =>
    median === undefined ? unknown : Math.min(Math.max(median * factor, min), max)
  return {
    recordAnswer: () => {
      answeredAt = now()
    },
    recordSuccess: (ms) => {
      times[recorded % REMEMBERED] = ms
      recorded += 1
      if (recorded >= MIN_KNOWN) median = times.toSorted((one, other) => one - other)[times.length >> 1]
    },
    remainingMs: (startedAt, isSuspect) => {
      if (isSuspect) return startedAt + toMs(SUSPECT) - now()
      const delay = Math.max(toMs(USUAL), (median ?? 0) * ALWAYS_SLOW)
      return Math.min(Math.max(startedAt, answeredAt) + delay, startedAt + 2 * delay) - now()
    },
  }
}
