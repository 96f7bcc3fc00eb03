/** Refuses work that the server could only answer late. */
export type Overload = {
  /** False when the request must be refused; otherwise `leave` is due when it is answered. */
  readonly enter: () => boolean
  readonly leave: () => void
  readonly close: () => void
}

const TICK_MS = 250
const MOST_LAG_MS = 1000

export function createOverload(maxInFlight: number): Overload {
  let inFlight = 0
  let lagMs = 0
  let expected = performance.now() + TICK_MS
  // A timer that comes late shows how long the event loop was held up.
  const timer = setInterval(() => {
    const now = performance.now()
    lagMs = Math.max(0, now - expected)
    expected = now + TICK_MS
  }, TICK_MS).unref()
  return {
    enter: () => {
      if (inFlight >= maxInFlight || lagMs > MOST_LAG_MS) return false
      inFlight += 1
      return true
    },
    leave: () => {
      inFlight -= 1
    },
    close: () => clearInterval(timer),
  }
}
