/** How fast this process works on single verifications, for the time that callers are told to wait. */
export type QueuePace = {
  /** An attempt begins. The returned function is to be called at its end. */
  readonly begin: () => () => void
  /** How many keys have due work. */
  readonly look: (keys: number) => void
  /** Whether a verification that is due probably has to wait for a place: there was none free lately. */
  readonly isFull: () => boolean
  /** How long a verification takes that is due and has so many of its own key before it. */
  readonly estimateMs: (before: number) => number
}

/** What one attempt counts in the mean. */
const WEIGHT = 0.1
/** Attempts that began together end together, and the next ones begin a moment later. */
const LATELY_MS = 1000

export function createQueuePace(places: number, now: () => number = () => performance.now()): QueuePace {
  let running = 0
  let fullAt = Number.NEGATIVE_INFINITY
  let keysDue = 1
  let meanMs: number | undefined
  return {
    begin: () => {
      const begunAt = now()
      running += 1
      return () => {
        const tookMs = now() - begunAt
        if (running >= places) fullAt = now()
        running -= 1
        meanMs = meanMs === undefined ? tookMs : meanMs + WEIGHT * (tookMs - meanMs)
      }
    },
    look: (keys) => {
      keysDue = Math.max(keys, 1)
    },
    isFull: () => running >= places || now() - fullAt < LATELY_MS,
    // Keys take turns, so each of those before it lets one of every other key in.
    estimateMs: (before) => (1 + (before * keysDue) / places) * (meanMs ?? 0),
  }
}
