import { expect, it } from 'vitest'
import { toAuditMetrics } from '../../src/audit/open-audit.ts'
import { printMetrics } from '../../src/telemetry/metric.ts'

it('says that the audit log cannot be written, and has the time of its last checkpoint in seconds', () => {
  const state = { isHealthy: false, checkpointedAt: 1_700_000_000_000, rowsSinceCheckpoint: 7 }
  const text = printMetrics(toAuditMetrics(state))
  expect(text).toContain('\ntabbat_audit_available 0\n')
  expect(text).toContain('\ntabbat_audit_checkpoint_timestamp_seconds 1700000000\n')
  expect(text).toContain('\ntabbat_audit_rows_since_checkpoint 7\n')
})
