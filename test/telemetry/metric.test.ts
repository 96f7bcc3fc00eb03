import { expect, it } from 'vitest'
import {
  createRequestCounts,
  printMetrics,
  toCounter,
  toGauge,
  toRequestMetrics,
  toSample,
  withLabel,
} from '../../src/telemetry/metric.ts'

it('prints the samples of several processes under one heading', () => {
  const memory = [toGauge('memory_bytes', 'Memory.', 5)]
  const printed = printMetrics([...withLabel(memory, 'worker', '1'), ...withLabel(memory, 'worker', '2')])
  expect(printed).toBe(
    '# HELP memory_bytes Memory.\n# TYPE memory_bytes gauge\nmemory_bytes{worker="1"} 5\nmemory_bytes{worker="2"} 5\n',
  )
})

it('escapes label values', () => {
  const printed = printMetrics([toCounter('a_total', 'A.', [toSample({ b: 'x"y\\z\n' }, 1)])])
  expect(printed.split('\n')[2]).toBe('a_total{b="x\\"y\\\\z\\n"} 1')
})

it('adds up the requests of several processes, buckets included', () => {
  const [one, other] = [createRequestCounts(), createRequestCounts()]
  one.count('verify_nin', 'test', 'ok', 0.7)
  one.count('verify_nin', 'test', 'ok', 20_000)
  other.count('verify_nin', 'test', 'ok', 3)
  const lines = printMetrics(toRequestMetrics([...one.dump(), ...other.dump()])).split('\n')
  const labels = 'operation="verify_nin",mode="test",outcome="ok"'
  const name = 'tabbat_request_duration_seconds'
  expect(lines).toEqual(
    expect.arrayContaining([
      `tabbat_requests_total{${labels}} 3`,
      `${name}_bucket{le="0.0005",${labels}} 0`,
      `${name}_bucket{le="0.001",${labels}} 1`,
      `${name}_bucket{le="0.005",${labels}} 2`,
      `${name}_bucket{le="15",${labels}} 2`,
      `${name}_bucket{le="+Inf",${labels}} 3`,
      `${name}_count{${labels}} 3`,
    ]),
  )
})

it('shows what is awaited with 0, without durations', () => {
  const requests = createRequestCounts(0, [['verify_nin', 'live', 'queue_full']])
  const print = () => printMetrics(toRequestMetrics(requests.dump())).split('\n')
  const labels = 'operation="verify_nin",mode="live",outcome="queue_full"'
  expect(print().filter((line) => line.includes(labels))).toEqual([`tabbat_requests_total{${labels}} 0`])
  requests.count('verify_nin', 'live', 'queue_full', 1)
  expect(print()).toContain(`tabbat_requests_total{${labels}} 1`)
  expect(print()).toContain(`tabbat_request_duration_seconds_count{${labels}} 1`)
})
