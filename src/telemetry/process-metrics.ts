import { readdirSync, readFileSync } from 'node:fs'
import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'
import { type Metric, toCounter, toGauge, toHistogramSamples, toLabelText, toSample } from './metric.ts'

/**
 * CPU, memory, event loop and garbage collection of this process, under the names that prom-client has made common,
 * but for those that end in _total and are no counters.
 */
export function createProcessMetrics(): () => Promise<Metric[]> {
  // Watching begins with the first scrape: a server that is not scraped pays nothing.
  let watching: { readonly readDelay: () => Promise<Metric[]>; readonly readGc: () => Metric } | undefined
  return async () => {
    watching ??= { readDelay: watchEventLoopDelay(), readGc: createGcMetric() }
    return [
      ...readCpu(),
      ...readMemory(),
      ...readDescriptors(),
      ...(await watching.readDelay()),
      ...readResources(),
      ...readHeap(),
      readVersion(),
      watching.readGc(),
    ]
  }
}

function readCpu(): Metric[] {
  const { user, system } = process.cpuUsage()
  return [
    toCounter('process_cpu_user_seconds_total', 'Total user CPU time spent in seconds.', user / 1e6),
    toCounter('process_cpu_system_seconds_total', 'Total system CPU time spent in seconds.', system / 1e6),
    toCounter(
      'process_cpu_seconds_total',
      'Total user and system CPU time spent in seconds.',
      (user + system) / 1e6,
    ),
    toGauge(
      'process_start_time_seconds',
      'Start time of the process since unix epoch in seconds.',
      Math.round(performance.timeOrigin / 1000),
    ),
  ]
}

/** Linux tells more about memory than Node.js does. */
function readMemory(): Metric[] {
  const status = readText('/proc/self/status')
  const read = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024
  const resident = toGauge(
    'process_resident_memory_bytes',
    'Resident memory size in bytes.',
    process.memoryUsage.rss(),
  )
  if (status === '') return [resident]
  return [
    resident,
    toGauge('process_virtual_memory_bytes', 'Virtual memory size in bytes.', read('VmSize')),
    toGauge('process_heap_bytes', 'Process heap size in bytes.', read('VmData')),
  ]
}

function readDescriptors(): Metric[] {
  const limit = /^Max open files +(\d+)/m.exec(readText('/proc/self/limits'))?.[1]
  if (limit === undefined) return []
  return [
    toGauge('process_open_fds', 'Number of open file descriptors.', readdirSync('/proc/self/fd').length - 1),
    toGauge('process_max_fds', 'Maximum number of open file descriptors.', Number(limit)),
  ]
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** What keeps the event loop busy: requests of the system such as file reads, and handles such as sockets. */
function readResources(): Metric[] {
  const all = process.getActiveResourcesInfo()
  const requests = all.filter((type) => /Req/.test(type))
  const handles = all.filter((type) => !/Req|^Timeout$|^Immediate$/.test(type))
  return [
    countByType('resources', 'resources that keep the event loop alive', all),
    countByType('handles', 'libuv handles', handles),
    countByType('requests', 'libuv requests', requests),
  ]
}

function countByType(name: string, what: string, types: readonly string[]): Metric {
  const samples = [...Map.groupBy(types, (type) => type)].map(([type, list]) =>
    toSample({ type }, list.length),
  )
  return toGauge(`nodejs_active_${name}`, `Number of active ${what}, by type.`, samples)
}

function readHeap(): Metric[] {
  const { heapTotal, heapUsed, external } = process.memoryUsage()
  const spaces = getHeapSpaceStatistics()
  const toSpaces = (field: 'space_size' | 'space_used_size' | 'space_available_size') =>
    spaces.map((space) => toSample({ space: space.space_name.replace(/_space$/, '') }, space[field]))
  return [
    toGauge('nodejs_heap_size_total_bytes', 'Process heap size from Node.js in bytes.', heapTotal),
    toGauge('nodejs_heap_size_used_bytes', 'Process heap size used from Node.js in bytes.', heapUsed),
    toGauge('nodejs_external_memory_bytes', 'Node.js external memory size in bytes.', external),
    toGauge('nodejs_heap_space_size_total_bytes', 'Process heap space size total.', toSpaces('space_size')),
    toGauge(
      'nodejs_heap_space_size_used_bytes',
      'Process heap space size used.',
      toSpaces('space_used_size'),
    ),
    toGauge(
      'nodejs_heap_space_size_available_bytes',
      'Process heap space size available.',
      toSpaces('space_available_size'),
    ),
  ]
}

function readVersion(): Metric {
  const [major = '', minor = '', patch = ''] = process.versions.node.split('.')
  return toGauge('nodejs_version_info', 'Node.js version info.', [
    toSample({ version: process.version, major, minor, patch }, 1),
  ])
}

/** Starts to watch the event loop. The result reads what was measured since it was called last. */
function watchEventLoopDelay(): () => Promise<Metric[]> {
  const histogram = monitorEventLoopDelay()
  histogram.enable()
  return async () => {
    const startedAt = performance.now()
    await setImmediate()
    const lag = (performance.now() - startedAt) / 1000
    const seconds = (nanoseconds: number) => (histogram.count === 0 ? 0 : nanoseconds / 1e9)
    const gauge = (part: string, help: string, nanoseconds: number) =>
      toGauge(
        `nodejs_eventloop_lag_${part}_seconds`,
        `The ${help} of the recorded event loop delays.`,
        seconds(nanoseconds),
      )
    const metrics = [
      toGauge('nodejs_eventloop_lag_seconds', 'Lag of event loop in seconds.', lag),
      gauge('min', 'minimum', histogram.min),
      gauge('max', 'maximum', histogram.max),
      gauge('mean', 'mean', histogram.mean),
      gauge('stddev', 'standard deviation', histogram.stddev),
      gauge('p50', '50th percentile', histogram.percentile(50)),
      gauge('p90', '90th percentile', histogram.percentile(90)),
      gauge('p99', '99th percentile', histogram.percentile(99)),
    ]
    histogram.reset()
    return metrics
  }
}

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
function createGcMetric(): () => Metric {
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
