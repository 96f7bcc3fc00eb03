import { readdirSync, readFileSync } from 'node:fs'
import { getHeapSpaceStatistics } from 'node:v8'
import { watchEventLoopDelay } from './event-loop-delay.ts'
import { createGcMetric } from './gc-metric.ts'
import { type Metric, toCounter, toGauge, toSample } from './metric.ts'

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
