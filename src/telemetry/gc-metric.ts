import { constants, PerformanceObserver } from 'node:perf_hooks'
import { type Metric, toHistogramSamples, toLabelText } from './metric.ts'

const BOUNDS_S = [0.001, 0.01, 0.1, 1, 2, 5]

/** Missing in the types of Node.js. */
type GcEntry = { readonly duration: number; readonly detail: { readonly kind: number } }

const KINDS = new Map<number, string>([
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
])

/** Starts to watch the garbage collector. */
export function createGcMetric(): () => Metric {
  const byKind = new Map<string, { readonly counts: number[]; sum: number; count: number }>()
  const observer = new PerformanceObserver((list) => {
    for (const { detail, duration } of list.getEntries() as unknown as GcEntry[]) {
      const kind = KINDS.get(detail.kind) ?? 'other'
      const figures = byKind.get(kind) ?? { counts: BOUNDS_S.map(() => 0), sum: 0, count: 0 }
      byKind.set(kind, figures)
      const seconds = duration / 1000
      const bucket = BOUNDS_S.findIndex((bound) => seconds <= bound)
      if (bucket !== -1) figures.counts[bucket] = (figures.counts[bucket] ?? 0) + 1
      figures.sum += seconds
      figures.count += 1
    }
  })
  observer.observe({ entryTypes: ['gc'] })
  return () => ({
    name: 'nodejs_gc_duration_seconds',
    help: 'Garbage collection duration by kind, one of major, minor, incremental or weakcb.',
    type: 'histogram',
    samples: [...byKind].flatMap(([kind, figures]) =>
      toHistogramSamples(toLabelText({ kind }), { bounds: BOUNDS_S, ...figures }),
    ),
  })
}
