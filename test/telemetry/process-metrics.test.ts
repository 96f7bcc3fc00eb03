import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { createProcessMetrics } from '../../src/telemetry/process-metrics.ts'

/** The names of prom-client on Linux, which dashboards rely on, except gauges whose names end in _total. */
const NAMES = [
  'process_cpu_user_seconds_total',
  'process_cpu_system_seconds_total',
  'process_cpu_seconds_total',
  'process_start_time_seconds',
  'process_resident_memory_bytes',
  'process_virtual_memory_bytes',
  'process_heap_bytes',
  'process_open_fds',
  'process_max_fds',
  'nodejs_eventloop_lag_seconds',
  'nodejs_eventloop_lag_min_seconds',
  'nodejs_eventloop_lag_max_seconds',
  'nodejs_eventloop_lag_mean_seconds',
  'nodejs_eventloop_lag_stddev_seconds',
  'nodejs_eventloop_lag_p50_seconds',
  'nodejs_eventloop_lag_p90_seconds',
  'nodejs_eventloop_lag_p99_seconds',
  'nodejs_active_resources',
  'nodejs_active_handles',
  'nodejs_active_requests',
  'nodejs_heap_size_total_bytes',
  'nodejs_heap_size_used_bytes',
  'nodejs_external_memory_bytes',
  'nodejs_heap_space_size_total_bytes',
  'nodejs_heap_space_size_used_bytes',
  'nodejs_heap_space_size_available_bytes',
  'nodejs_version_info',
  'nodejs_gc_duration_seconds',
]

it.runIf(process.platform === 'linux')('has the usual names, and a finite figure for each', async () => {
  const collect = createProcessMetrics()
  for (const metrics of [await collect(), await collect()]) {
    expect(metrics.map(({ name }) => name)).toEqual(NAMES)
    for (const { name, samples } of metrics)
      for (const { value } of samples)
        expect([name, Number.isFinite(value) && value >= 0]).toEqual([name, true])
  }
})

it('counts garbage collections from the first reading on', async () => {
  const collect = createProcessMetrics()
  await collect()
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const countMajor = async () => {
    const gc = (await collect()).find(({ name }) => name === 'nodejs_gc_duration_seconds')
    return (
      gc?.samples.find(({ suffix, labels }) => suffix === '_count' && labels === 'kind="major"')?.value ?? 0
    )
  }
  collectGarbage()
  await expect.poll(countMajor).toBeGreaterThan(0)
})
