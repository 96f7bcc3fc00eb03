import cluster from 'node:cluster'
import { toGauge } from '../../src/telemetry/metric.ts'
import { joinWorkers, relayMetrics } from '../../src/telemetry/worker-metrics.ts'

/** Two workers: one is still starting, the other joins and prints the figures that it gets of the others. */
if (cluster.isPrimary) {
  relayMetrics(async () => [toGauge('test_primary', 'Test.', 1)], 60_000)
  const starting = cluster.fork({ TEST_ROLE: 'starting' })
  starting.once('online', () => {
    cluster.fork({ TEST_ROLE: 'joined' }).once('exit', () => starting.kill())
  })
} else if (process.env.TEST_ROLE === 'joined') {
  const collectOthers = joinWorkers(async () => ({ requests: [], metrics: [] }))
  const { metrics } = await collectOthers([])
  process.stdout.write(JSON.stringify(metrics.map(({ name }) => name)), () => process.exit())
}
