import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { archiveLog } from '../audit/archive/archive-log.ts'
import { ARCHIVE_SUFFIX } from '../audit/archive/find-archives.ts'
import { Stopped } from '../audit/archive/write-archive.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { createSigner } from '../audit/signing.ts'
import type { Config } from '../context/config.ts'
import { recordSizes } from '../context/storage-report.ts'
import { DAY_MS } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { ARCHIVE_LOCK } from '../database/process-lock.ts'
import { UserError } from '../errors.ts'
import { endOf, monthOf, startOf, toMonth } from '../ledger/audit-months.ts'
import { EXPIRY_LOCK, expireRecords } from '../registry/expire-records.ts'
import { openStore, type Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'

type RetentionConfig = ArchivingConfig & Pick<Config, 'recordsKeep'>

type RetentionDeps = Omit<ArchivingDeps, 'isStopped'> & { readonly workerNumber: number }

/** Notes the sizes, erases old records and archives old audit rows: in one worker of each node, with each cleanup. */
export const createRetention = (config: RetentionConfig, { workerNumber, ...deps }: RetentionDeps) => ({
  forget: async (isStopped: () => boolean): Promise<void> => {
    if (workerNumber === 1) await runRetention(config, { ...deps, isStopped })
  },
})

/** A failure of one does not prevent the next. */
async function runRetention(config: RetentionConfig, deps: ArchivingDeps): Promise<void> {
  const { store, log } = deps
  await recordSizes(store, Date.now()).catch(log.failure)
  if (config.recordsKeep !== 'off') await expire(config.recordsKeep, deps).catch(log.failure)
  await archiveDue(config, deps)
}

/** A clock that is set forward while the process runs must not erase records. */
const cautiousNow = () => Math.min(Date.now(), performance.timeOrigin + performance.now())

async function expire(keepMs: number, deps: Parameters<typeof expireRecords>[1] & { readonly log: Log }) {
  try {
    const records = await expireRecords(Math.floor(cautiousNow() - keepMs), deps)
    if (records > 0) deps.log.event('info', 'records_expired', { records })
  } catch (error) {
    if (!(error instanceof UserError && error.message === EXPIRY_LOCK.refusal)) throw error
  }
}

type ArchivingDeps = {
  readonly store: Store
  readonly audit: AuditLog
  readonly keyring: Keyring
  readonly log: Log
  readonly isStopped?: () => boolean
}

type ArchivingConfig = Pick<Config, 'auditKeep' | 'auditArchiveDir'>

/** Archives what is due now. Of several nodes one does it; the others try again an hour later. */
async function archiveDue(
  { auditKeep, auditArchiveDir }: ArchivingConfig,
  { store, audit, keyring, log, isStopped }: ArchivingDeps,
): Promise<void> {
  if (auditKeep === 'off' || auditArchiveDir === undefined) return
  const before = startOf(toMonth(Date.now() - auditKeep))
  try {
    await mkdir(auditArchiveDir, { recursive: true, mode: 0o700 })
    await removeDrafts(auditArchiveDir)
    if (!(await isDue(store, before))) return
    const path = join(auditArchiveDir, toName(before))
    const signer = createSigner(keyring['audit-signing'])
    const { archived, left } = await withPatientStore(store, (patient) =>
      archiveLog(before, path, {
        store: patient,
        signer,
        audit,
        by: 'TABBAT_AUDIT_KEEP',
        ...(isStopped && { isStopped }),
      }),
    )
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

/** Whether there may be something to archive or to remove. */
async function isDue({ audit, archives }: Store, before: number): Promise<boolean> {
  if ((await archives.list()).some(({ removedAt }) => removedAt === undefined)) return true
  return (await audit.chains()).some(({ chain, isArchived }) => {
    const month = monthOf(chain)
    return !isArchived && (month === undefined || endOf(month) <= before)
  })
}

/** The calls of a server to PostgreSQL have short timeouts. SQLite is written by the thread of the server. */
async function withPatientStore<T>(store: Store, work: (store: Store) => Promise<T>): Promise<T> {
  const { databaseUrl } = store
  if (databaseUrl === undefined) return work(store)
  const patient = await openStore({ dataDir: '', databaseUrl, databaseConnections: CONNECTIONS })
  return work(patient).finally(patient.close)
}

/** One holds the lock. */
const CONNECTIONS = 5

/** An interrupted run may have left an incomplete file. A younger one may be that of another node. */
async function removeDrafts(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((each) => each.endsWith(`${ARCHIVE_SUFFIX}.part`))) {
    const path = join(folder, name)
    if ((await stat(path)).mtimeMs < Date.now() - DAY_MS) await rm(path, { force: true })
  }
}

/** The months before a day, and the time of the archive: an interrupted run may have left a file. */
const toName = (before: number) =>
  `audit-before-${new Date(before).toISOString().slice(0, 7)}-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}${ARCHIVE_SUFFIX}`
