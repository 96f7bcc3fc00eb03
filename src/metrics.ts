import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'

export type Metrics = {
  readonly countRequest: (operation: string, mode: string, outcome: string, durationMs: number) => void
  readonly print: () => Promise<string>
}

const BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

/** Labels come from closed lists (operations, modes, error codes), so there is a bound to the number of series. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const labelNames = ['operation', 'mode', 'outcome'] as const
  const requests = new Counter({
    name: 'tabbat_requests_total',
    help: 'Requests answered, by operation, mode and outcome.',
    labelNames,
    registers: [registry],
  })
  const durations = new Histogram({
    name: 'tabbat_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer.',
    labelNames,
    buckets: BUCKETS_S,
    registers: [registry],
  })
  return {
    countRequest: (operation, mode, outcome, durationMs) => {
      const labels = { operation, mode, outcome }
      requests.inc(labels)
      durations.observe(labels, durationMs / 1000)
    },
    print: () => registry.metrics(),
  }
}
