import { type Metric, toGauge } from '../telemetry/metric.ts'
import type { AuditLog } from './audit-log.ts'

export type AuditState = Pick<AuditLog, 'isHealthy' | 'checkpointedAt' | 'rowsSinceCheckpoint'>

/** The audit log of this process. */
export const toAuditMetrics = ({ isHealthy, checkpointedAt, rowsSinceCheckpoint }: AuditState): Metric[] => [
  toGauge(
    'tabbat_audit_available',
    '1 if the audit log can be written; 0 while verifications get 503.',
    isHealthy ? 1 : 0,
  ),
  toGauge(
    'tabbat_audit_checkpoint_timestamp_seconds',
    'When this process last made a checkpoint, in Unix time; 0 before the first.',
    (checkpointedAt ?? 0) / 1000,
  ),
  toGauge(
    'tabbat_audit_rows_since_checkpoint',
    'Rows that this process has written since its last checkpoint.',
    rowsSinceCheckpoint,
  ),
]
