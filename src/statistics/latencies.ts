import { SPANS, toSpanName } from '../ledger/span.ts'
import { startFlushTimer } from './flush-timer.ts'
import { toClass } from './latency-classes.ts'
import type { LatencyCount, LatencyQueries } from './latency-queries.ts'

/** Durations of verifications, counted in memory and written every two seconds: a crash loses a few seconds of them. */
export type Latencies = {
  readonly count: (mode: string, ms: number) => void
  /** Writes the counts. After a failure they are kept for the next flush. */
  readonly flush: () => Promise<void>
  readonly close: () => Promise<void>
}

export function createLatencies(table: Pick<LatencyQueries, 'addLatencies'>, node: string): Latencies {
  /** By mode, then by class. */
  let gathered = new Map<string, number[]>()

  const write = async () => {
    const taken = gathered
    if (taken.size === 0) return
    gathered = new Map()
    try {
      await table.addLatencies(toCounts(taken, node, new Date().toISOString()))
    } catch {
      // Store unavailable; reported elsewhere.
      for (const [mode, counts] of taken)
        counts.forEach((count, latencyClass) => {
          add(gathered, mode, latencyClass, count)
        })
    }
  }
  return { count: (mode, ms) => add(gathered, mode, toClass(ms), 1), ...startFlushTimer(write) }
}

function add(gathered: Map<string, number[]>, mode: string, latencyClass: number, count: number): void {
  const known = gathered.get(mode)
  const counts = known ?? []
  if (!known) gathered.set(mode, counts)
  counts[latencyClass] = (counts[latencyClass] ?? 0) + count
}

const toCounts = (gathered: ReadonlyMap<string, readonly number[]>, node: string, time: string) =>
  [...gathered].flatMap(([mode, counts]) =>
    counts.flatMap((count, latencyClass): LatencyCount[] =>
      SPANS.map((span) => ({ span, at: toSpanName(span, time), node, mode, class: latencyClass, count })),
    ),
  )
