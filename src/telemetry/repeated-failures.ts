/** A logged failure. Failures with the same error, first frame and cause are of one kind. */
export type FailureLine = { readonly error: string; readonly at: readonly string[]; readonly cause?: object }

type Repeated<L> = { until: number; count: number; last: L }

const WINDOW_MS = 1000
/** A bound on memory. */
const MAX_KINDS = 200

/**
 * The first failure of a kind is written at once. Those of the following second are counted, and written as one line when
 * it is over.
 */
export function createRepeatedFailures<L extends FailureLine>(write: (line: L & { count: number }) => void) {
  const kinds = new Map<string, Repeated<L>>()
  const settle = (isLast: boolean) => {
    const now = performance.now()
    for (const [kind, repeated] of kinds) {
      if (!isLast && repeated.until > now) continue
      if (repeated.count > 0) write({ ...repeated.last, count: repeated.count })
      if (repeated.count === 0 || isLast) kinds.delete(kind)
      else Object.assign(repeated, { until: now + WINDOW_MS, count: 0 })
    }
  }
  return {
    add: (line: L): void => {
      const kind = JSON.stringify([line.error, line.at[0], line.cause])
      const known = kinds.get(kind)
      if (known) {
        known.count += 1
        known.last = line
        return
      }
      if (kinds.size >= MAX_KINDS) settle(true)
      kinds.set(kind, { until: performance.now() + WINDOW_MS, count: 0, last: line })
      write({ ...line, count: 1 })
    },
    /** To be called a few times a second. */
    tick: () => settle(false),
    end: () => settle(true),
  }
}
