import { SPANS, toSpanName } from '../ledger/tally.ts'
import type { CallResult, SourceCallCount, SourceCallTable } from './source-call-table.ts'
import type { LatencyCount, StatisticsTable } from './statistics-table.ts'

/** Durations of verifications, counted in memory and written every two seconds: a crash loses a few seconds of them. */
export type Latencies = {
  readonly count: (mode: string, ms: number) => void
  /** Writes the counts. After a failure they are kept for the next flush. */
  readonly flush: () => Promise<void>
  readonly close: () => Promise<void>
}

export function createLatencies(table: Pick<StatisticsTable, 'addLatencies'>, node: string): Latencies {
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

const FLUSH_EVERY_MS = 2000

/** Writes what was gathered in memory, every two seconds and at the end: a crash loses a few seconds of it. */
type FlushTimer = {
  /** One write at a time; a call during a write shares it. */
  readonly flush: () => Promise<void>
  readonly close: () => Promise<void>
}

export function startFlushTimer(write: () => Promise<void>): FlushTimer {
  let flushing: Promise<void> | undefined
  const flush = () => {
    flushing ??= write().finally(() => {
      flushing = undefined
    })
    return flushing
  }
  const timer = setInterval(() => void flush(), FLUSH_EVERY_MS).unref()
  return {
    flush,
    close: async () => {
      clearInterval(timer)
      await flushing
      await flush()
    },
  }
}

type SourceCall = {
  readonly source: string
  readonly operation: string
  readonly result: CallResult
  readonly ms: number
  readonly kobo: number
}

/** Calls to vendors, counted in memory and written every two seconds: a crash loses a few seconds of them. */
export type SourceCalls = {
  readonly count: (call: SourceCall) => void
  /** Writes the counts. After a failure they are kept for the next flush. */
  readonly flush: () => Promise<void>
  readonly close: () => Promise<void>
}

type Counted = Omit<SourceCallCount, 'span' | 'at' | 'node' | 'count' | 'kobo'> & {
  count: number
  kobo: number
}

export function createSourceCalls(table: Pick<SourceCallTable, 'add'>, node: string): SourceCalls {
  let gathered = new Map<string, Counted>()
  const add = (counted: Counted) => {
    const { source, operation, result, class: latencyClass } = counted
    const name = `${source} ${operation} ${result} ${latencyClass}`
    const known = gathered.get(name)
    if (!known) {
      gathered.set(name, counted)
      return
    }
    known.count += counted.count
    known.kobo += counted.kobo
  }
  const write = async () => {
    const taken = [...gathered.values()]
    if (taken.length === 0) return
    gathered = new Map()
    const time = new Date().toISOString()
    try {
      await table.add(
        taken.flatMap((counted) =>
          SPANS.map((span) => ({ ...counted, span, at: toSpanName(span, time), node })),
        ),
      )
    } catch {
      // Store unavailable; reported elsewhere.
      for (const counted of taken) add(counted)
    }
  }
  return {
    count: ({ source, operation, result, ms, kobo }) =>
      add({ source, operation, result, class: toClass(ms), count: 1, kobo }),
    ...startFlushTimer(write),
  }
}
