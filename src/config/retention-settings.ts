import { duration, orOff, plain, type Setting, setting } from '../settings/setting.ts'

/** How long data is kept. */
export const RETENTION_SETTINGS = {
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
  recordsKeep: setting(
    'TABBAT_RECORDS_KEEP',
    'off',
    orOff(duration({ least: '1d', most: '36500d' })),
    'How long records of the registry are kept after the last import that contained them. Older ones are erased with their pictures, and the number is recorded in the audit log. off: they are kept until they are erased.',
  ),
} satisfies Readonly<Record<string, Setting<unknown>>>
