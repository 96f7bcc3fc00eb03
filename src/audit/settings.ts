import type { DatabaseSettings } from '../database/settings.ts'
import { duration, oneOf, orOff, plain, type Setting, setting, type ValuesOf } from '../settings/setting.ts'

/** The audit log. */
export const AUDIT_SETTINGS = {
  lostRows: setting(
    'TABBAT_LOST_ROWS',
    'refuse',
    oneOf('refuse', 'record'),
    'What follows when PostgreSQL no longer has audit rows that callers were answered on, as after a failover to an asynchronous standby. refuse: verifications get 503 until an operator runs tabbat audit accept-loss. record: the server writes the statement of the loss itself and continues.',
  ),
  checkpointDir: setting(
    'TABBAT_CHECKPOINT_DIR',
    undefined,
    plain,
    'Folder of checkpoints.log, the signed checkpoints of the audit log. Choose one that an attacker with access to the database cannot change. Unset: the data folder.',
  ),
} satisfies Record<string, Setting<unknown>>

/** How long its rows stay in the database, and where its archives are. */
export const ARCHIVE_SETTINGS = {
  auditKeep: setting(
    'TABBAT_AUDIT_KEEP',
    'off',
    orOff(duration({ least: '365d', most: '36500d' })),
    'How long audit rows stay in the database, at least 1y. Months that ended before are archived to TABBAT_AUDIT_ARCHIVE_DIR, which must be set, and then removed. off: all rows stay. Rows are never removed without an archive.',
  ),
  auditArchiveDir: setting(
    'TABBAT_AUDIT_ARCHIVE_DIR',
    undefined,
    plain,
    'Folder of the archives of the audit log. The server writes them if TABBAT_AUDIT_KEEP is set. The commands audit verify, show and subject, reports about a person, and the verification in the console read the archives in it.',
  ),
} satisfies Record<string, Setting<unknown>>

export type AuditSettings = ValuesOf<typeof AUDIT_SETTINGS & typeof ARCHIVE_SETTINGS>

/** Where the files of the audit log are: beside the data, unless TABBAT_CHECKPOINT_DIR is set. */
export type CheckpointFolders = Pick<DatabaseSettings, 'dataDir'> & Pick<AuditSettings, 'checkpointDir'>
