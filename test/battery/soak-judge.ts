import type { Sample } from './soak-lane.ts'

/** One measure in the four quarters of a run. */
export type Verdict = {
  readonly name: string
  readonly quarters: readonly number[]
  /** The last quarter by the second: the first one warms up. */
  readonly ratio: number
  /** Measures without a limit are only shown. */
  readonly limit: number | undefined
  readonly digits: number
}

const MAX_RATIO = 1.1

type Measure = {
  readonly name: string
  readonly of: (sample: Sample) => number
  /** Of the samples of a quarter: the median by default. Memory is lowest right after a garbage collection. */
  readonly share?: number
  readonly isShown?: true
  readonly digits?: number
}

const [P99, CONTROL] = ['p99, ms', 'p99 of a bare server, ms']

export const MEASURES: readonly Measure[] = [
  { name: 'memory, MB', of: ({ rssBytes }) => rssBytes / 1e6 },
  { name: 'heap after collection, MB', of: ({ heapBytes }) => heapBytes / 1e6, share: 0.1, digits: 1 },
  { name: 'descriptors', of: ({ descriptors }) => descriptors },
  { name: 'write-ahead log, MB', of: ({ walBytes }) => walBytes / 1e6, digits: 1 },
  { name: P99, of: ({ p99Ms }) => p99Ms, digits: 1 },
  { name: CONTROL, of: ({ controlP99Ms }) => controlP99Ms, isShown: true, digits: 1 },
  { name: 'p50, ms', of: ({ p50Ms }) => p50Ms, isShown: true, digits: 1 },
  { name: 'event loop p99, ms', of: ({ loopP99Ms }) => loopP99Ms, isShown: true, digits: 1 },
  { name: 'answers/s', of: ({ answers }) => answers / 5, isShown: true },
  { name: 'database, MB', of: ({ databaseBytes }) => databaseBytes / 1e6, isShown: true },
]

/**
 * The p99 of a quarter is the median of many short windows: a neighbour that takes the processor for a while does not decide. What
 * the p99 of the bare server grows by, the machine has caused.
 */
export function judge(samples: readonly Sample[]): Verdict[] {
  const machine = toRatio(toQuarters(samples, ({ controlP99Ms }) => controlP99Ms))
  return MEASURES.map(({ name, of, share, isShown, digits = 0 }) => {
    const quarters = toQuarters(samples, of, share)
    const limit = name === P99 ? MAX_RATIO * Math.max(1, machine) : MAX_RATIO
    return { name, quarters, ratio: toRatio(quarters), limit: isShown ? undefined : limit, digits }
  })
}

const toRatio = (quarters: readonly number[]) => (quarters[3] ?? 0) / (quarters[1] || 1)

const toQuarters = (samples: readonly Sample[], of: Measure['of'], share = 0.5) =>
  [0, 1, 2, 3].map((quarter) => {
    const from = Math.floor((samples.length * quarter) / 4)
    const to = Math.floor((samples.length * (quarter + 1)) / 4)
    return partOf(samples.slice(from, to).map(of), share)
  })

/** A measure that could not be read is a failure, too. */
export const isWithin = ({ ratio, limit, quarters }: Verdict): boolean =>
  limit === undefined || (ratio <= limit && quarters.every(Number.isFinite))

export function partOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
