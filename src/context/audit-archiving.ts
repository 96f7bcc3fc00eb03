import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { archiveLog } from '../audit/archive/archive-log.ts'
import { ARCHIVE_SUFFIX } from '../audit/archive/search-archives.ts'
import { Stopped } from '../audit/archive/write-archive.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { createSigner } from '../audit/signing.ts'
import type { Config } from '../config/config.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import { startOf, toMonth } from '../store/audit-months.ts'
import { ARCHIVE_LOCK } from '../store/process-lock.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'

export type ArchivingDeps = {
  readonly store: Store
  readonly audit: AuditLog
  readonly keyring: Keyring
  readonly log: Log
  readonly isStopped?: () => boolean
}

/** Archives what is due now. Of several nodes one does it; the others try again an hour later. */
export async function archiveDue(
  { auditKeep, auditArchiveDir }: Pick<Config, 'auditKeep' | 'auditArchiveDir'>,
  { store, audit, keyring, log, isStopped }: ArchivingDeps,
): Promise<void> {
  if (auditKeep === 'off' || auditArchiveDir === undefined) return
  const before = startOf(toMonth(Date.now() - auditKeep))
  try {
    await mkdir(auditArchiveDir, { recursive: true, mode: 0o700 })
    const path = join(auditArchiveDir, toName(before))
    const signer = createSigner(keyring['audit-signing'])
    const deps = { store, signer, audit, by: 'TABBAT_AUDIT_KEEP', ...(isStopped && { isStopped }) }
    const { archived, left } = await archiveLog(before, path, deps)
    if (archived) log.event('info', 'audit_archived', { number: archived.number, rows: archived.rows })
    for (const reason of left) log.event('warn', 'audit_month_kept', { reason })
  } catch (error) {
    if (error instanceof Stopped || (error instanceof UserError && error.message === ARCHIVE_LOCK.refusal))
      return
    const reason = error instanceof UserError ? error.message : 'internal error'
    log.event('error', 'audit_archive_failed', { reason })
    if (!(error instanceof UserError)) log.failure(error)
  }
}

/** The months before a day, and the time of the archive: an interrupted run may have left a file. */
const toName = (before: number) =>
  `audit-before-${new Date(before).toISOString().slice(0, 7)}-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}${ARCHIVE_SUFFIX}`
