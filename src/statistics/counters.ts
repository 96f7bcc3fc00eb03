import { MINUTE_MS } from '../contract/time.ts'
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
  /** Of the minute that runs: by mode, then by class. */
  let gathered = new Map<string, number[]>()
  const waiting = createWaiting<LatencyCount>(
    ({ span, at, mode, class: latencyClass }) => `${span} ${at} ${mode} ${latencyClass}`,
    (minute) => {
      const taken = gathered
      gathered = new Map()
      return toCounts(taken, node, minute)
    },
  )
  return {
    count: (mode, ms) => {
      waiting.openMinute()
      const known = gathered.get(mode)
      const counts = known ?? []
      if (!known) gathered.set(mode, counts)
      const latencyClass = toClass(ms)
      counts[latencyClass] = (counts[latencyClass] ?? 0) + 1
    },
    ...startFlushTimer(() => waiting.write((counts) => table.addLatencies(counts))),
  }
}

/**
 * Counts that wait to be written, under the minute in which they were counted: while the store is away that may be long ago. Equal ones
 * are added up. `take` gives those of the minute that ran, and forgets them.
 */
function createWaiting<Count extends { readonly count: number; readonly kobo?: number }>(
  toName: (count: Count) => string,
  take: (minute: string) => readonly Count[],
) {
  let minute = toMinute()
  let waiting = new Map<string, Count>()
  const add = (counts: Iterable<Count>) => {
    for (const each of counts) {
      const name = toName(each)
      const known = waiting.get(name)
      waiting.set(name, known ? addUp(known, each) : each)
    }
  }
  const setAside = () => add(take(new Date(minute * MINUTE_MS).toISOString()))
  return {
    /** To be called before each count. */
    openMinute: () => {
      const now = toMinute()
      if (now === minute) return
      setAside()
      minute = now
    },
    write: async (run: (counts: readonly Count[]) => Promise<void>) => {
      setAside()
      if (waiting.size === 0) return
      const taken = [...waiting.values()]
      waiting = new Map()
      try {
        await run(taken)
      } catch {
        // Store unavailable; reported elsewhere.
        add(taken)
      }
    },
  }
}

const toMinute = () => Math.floor(Date.now() / MINUTE_MS)

const addUp = <Count extends { readonly count: number; readonly kobo?: number }>(
  one: Count,
  other: Count,
): Count => ({
  ...one,
  count: one.count + other.count,
  ...(one.kobo !== undefined && { kobo: one.kobo + (other.kobo ?? 0) }),
})

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
  /** Of the minute that runs. */
  let gathered = new Map<string, Counted>()
  const waiting = createWaiting<SourceCallCount>(
    ({ span, at, ...call }) => `${span} ${at} ${toCallName(call)}`,
    (minute) => {
      const taken = [...gathered.values()]
      gathered = new Map()
      return taken.flatMap((counted) =>
        SPANS.map((span) => ({ ...counted, span, at: toSpanName(span, minute), node })),
      )
    },
  )
  return {
    count: ({ source, operation, result, ms, kobo }) => {
      waiting.openMinute()
      const call = { source, operation, result, class: toClass(ms) }
      const name = toCallName(call)
      const known = gathered.get(name)
      if (!known) {
        gathered.set(name, { ...call, count: 1, kobo })
        return
      }
      known.count += 1
      known.kobo += kobo
    },
    ...startFlushTimer(() => waiting.write((counts) => table.add(counts))),
  }
}

const toCallName = ({
  source,
  operation,
  result,
  class: latencyClass,
}: Pick<SourceCallCount, 'source' | 'operation' | 'result' | 'class'>) =>
  `${source} ${operation} ${result} ${latencyClass}`
