import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate } from 'node:timers/promises'
import { type Metric, toGauge } from './metric.ts'

/** Starts to watch the event loop. The result reads what was measured since it was called last. */
export function watchEventLoopDelay(): () => Promise<Metric[]> {
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
