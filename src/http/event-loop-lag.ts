const TICK_MS = 250
const MAX_LAG_MS = 1000

/** A timer that fires late shows how long the event loop was blocked. */
export function watchEventLoopLag() {
  let lagMs = 0
  let expected = performance.now() + TICK_MS
  const timer = setInterval(() => {
    const now = performance.now()
    lagMs = Math.max(0, now - expected)
    expected = now + TICK_MS
  }, TICK_MS).unref()
  return { isTooLong: () => lagMs > MAX_LAG_MS, close: () => clearInterval(timer) }
}
