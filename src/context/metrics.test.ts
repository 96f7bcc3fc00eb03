import { expect, it } from 'vitest'
import { printMetrics } from '../telemetry/metric.ts'
import { toAuditMetrics } from './audit-metrics.ts'
import { createMetrics } from './metrics.ts'

it('has the time of the last scrub from the start, as 0 before the first', async () => {
  let finishedAt: number | undefined
  const sourceChain = { guards: [], listSpend: async () => [], prices: {} }
  const { print } = createMetrics({
    sourceChain,
    audit: { isHealthy: true, checkpointedAt: undefined, rowsSinceCheckpoint: 0 },
    webhooks: { counts: { delivered: 0, failed: 0 } },
    queue: { signals: { ended: { expired: 2 } } },
    workerNumber: 1,
    scrubbedAt: () => finishedAt,
    certificate: undefined,
    requests: undefined,
    mostKeys: 0,
    readers: [],
  })
  expect(await print()).toContain('\ntabbat_scrub_finished_timestamp_seconds 0\n')
  finishedAt = 1_700_000_000_000
  expect(await print()).toContain('\ntabbat_scrub_finished_timestamp_seconds 1700000000\n')
})

it('says that the audit log cannot be written, and has the time of its last checkpoint in seconds', () => {
  const state = { isHealthy: false, checkpointedAt: 1_700_000_000_000, rowsSinceCheckpoint: 7 }
  const text = printMetrics(toAuditMetrics(state))
  expect(text).toContain('\ntabbat_audit_available 0\n')
  expect(text).toContain('\ntabbat_audit_checkpoint_timestamp_seconds 1700000000\n')
  expect(text).toContain('\ntabbat_audit_rows_since_checkpoint 7\n')
})
