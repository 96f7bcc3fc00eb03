/** Histogram classes: each upper bound is the one before it times the square root of two. */
const LOWEST_MS = 0.25
const STEPS_PER_DOUBLING = 2
const LAST_CLASS = 36

export const toClass = (ms: number) =>
  Math.min(Math.max(Math.ceil(Math.log2(ms / LOWEST_MS) * STEPS_PER_DOUBLING), 0), LAST_CLASS)

export const toBoundMs = (latencyClass: number) => LOWEST_MS * 2 ** (latencyClass / STEPS_PER_DOUBLING)

type ClassCount = { readonly class: number; readonly count: number }

/** Estimates a percentile by linear interpolation within its class. Undefined when nothing was counted. */
export function estimatePercentile(counts: readonly ClassCount[], part: number): number | undefined {
  const total = counts.reduce((sum, { count }) => sum + count, 0)
  if (total === 0) return undefined
  const rank = Math.max(part * total, 1)
  let below = 0
  for (const { class: latencyClass, count } of counts.toSorted((a, b) => a.class - b.class)) {
    if (below + count >= rank) {
      const low = latencyClass === 0 ? 0 : toBoundMs(latencyClass - 1)
      return low + ((rank - below) / count) * (toBoundMs(latencyClass) - low)
    }
    below += count
  }
  return toBoundMs(LAST_CLASS)
}
