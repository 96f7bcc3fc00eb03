import type { Keyring } from '../crypto/keyring.ts'
import type { DatabaseSettings } from '../database/settings.ts'
import type { Log } from '../telemetry/log.ts'
import { type Metric, toGauge } from '../telemetry/metric.ts'
import { type AuditLog, openAuditLog } from './audit-log.ts'
import type { AuditStore } from './audit-store.ts'
import type { Loss } from './loss-table.ts'
import { createRecentRows, type RecentRows } from './recent-rows.ts'
import type { AuditSettings } from './settings.ts'
import { createSigner } from './signing.ts'

type AuditDeps = {
  readonly store: Pick<AuditStore, 'audit' | 'losses'>
  readonly keyring: Keyring
  readonly log: Log
  readonly onUnavailable: () => void
  readonly onCorruption: (error: unknown) => void
}

/** The audit log of a server: what goes wrong in it is logged, and damage stops the process. */
export async function openAudit(
  config: AuditSettings & Pick<DatabaseSettings, 'dataDir' | 'databaseUrl'>,
  { store, keyring, log, onUnavailable, onCorruption }: AuditDeps,
): Promise<{ readonly audit: AuditLog; readonly recent: RecentRows }> {
  const logFailure = (event: string) => (error: unknown) => {
    log.event('error', event)
    log.failure(error)
  }
  const recent = createRecentRows()
  const audit = await openAuditLog({
    recent,
    table: store.audit,
    signer: createSigner(keyring['audit-signing']),
    dataDir: config.dataDir,
    checkpointDir: config.checkpointDir ?? config.dataDir,
    losses:
      config.databaseUrl === undefined
        ? undefined
        : {
            losses: store.losses,
            isRecorded: config.lostRows === 'record',
            by: 'TABBAT_LOST_ROWS',
            onLoss: (loss) => log.event('error', 'audit_rows_lost', toLossFacts(loss)),
          },
    onUnavailable: (error) => {
      logFailure('audit_unavailable')(error)
      onUnavailable()
    },
    onCheckpointFailure: logFailure('checkpoint_failed'),
    onCorruption,
  })
  return { audit, recent }
}

const SHOWN_REFERENCES = 20

/** The first references; `tabbat audit accept-loss --json` prints all. */
const toLossFacts = ({ chain, kept, acknowledged, references }: Loss) => ({
  chain,
  first: kept + 1,
  last: acknowledged,
  references: references.slice(0, SHOWN_REFERENCES).join(' '),
})

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
