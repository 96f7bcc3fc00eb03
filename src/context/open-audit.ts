import { type AuditLog, openAuditLog } from '../audit/audit-log.ts'
import { createRecentRows, type RecentRows } from '../audit/recent-rows.ts'
import { createSigner } from '../audit/signing.ts'
import type { Config } from '../config/config.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Loss } from '../store/loss-table.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { FatalStop } from './fatal-stop.ts'

/** The audit log of a server: what goes wrong in it is logged, and damage stops the process. */
export async function openAudit(
  config: Config,
  store: Store,
  keyring: Keyring,
  log: Log,
  fatal: FatalStop,
  onUnavailable: () => void,
): Promise<{ readonly audit: AuditLog; readonly recent: RecentRows }> {
  const logFailure = (event: string) => (error: unknown) => {
    log.event('error', event)
    log.failure(error)
  }
  const recent = createRecentRows()
  fatal.audit = await openAuditLog({
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
    onCorruption: fatal.stop,
  })
  return { audit: fatal.audit, recent }
}

const SHOWN_REFERENCES = 20

/** The first references; `tabbat audit accept-loss --json` prints all. */
const toLossFacts = ({ chain, kept, acknowledged, references }: Loss) => ({
  chain,
  first: kept + 1,
  last: acknowledged,
  references: references.slice(0, SHOWN_REFERENCES).join(' '),
})
