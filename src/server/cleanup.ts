import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { deleteExpiredSessions } from '../accounts/sessions.ts'
import { archiveLog } from '../audit/archive/archive-log.ts'
import { ARCHIVE_SUFFIX } from '../audit/archive/whole-log.ts'
import { Stopped } from '../audit/archive/write-archive.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { startSubjectIndex } from '../audit/index-subjects.ts'
import type { RecentRows } from '../audit/recent-rows.ts'
import { createSigner } from '../audit/signing.ts'
import { deleteExpiredReviews } from '../catalogue/review.ts'
import { deleteExpiredVersions } from '../catalogue/versions.ts'
import type { Config } from '../context/config.ts'
import { withPatientStore } from '../context/patient-store.ts'
import { recordSizes } from '../context/storage-report.ts'
import type { Store } from '../context/store.ts'
import { DAY_MS, HOUR_MS, steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { makeFolder } from '../crypto/make-folder.ts'
import { ROWS_PER_STEP } from '../database/delete-some.ts'
import { emptyWal } from '../database/empty-wal.ts'
import { ARCHIVE_LOCK } from '../database/process-lock.ts'
import { UserError } from '../errors.ts'
import { endOf, monthOf, startOf, toMonth } from '../ledger/audit-months.ts'
import { keepErasuresFile } from '../people/erasures-file.ts'
import { deleteExpiredRecords, EXPIRY_LOCK } from '../registry/delete-expired-records.ts'
import { toFirstKept } from '../statistics/steps.ts'
import type { Log } from '../telemetry/log.ts'

/**
 * Deletes expired rows, or prepares for new ones. One that returns a number has more to delete while it returns a full step. One
 * that takes long asks whether it is to stop.
 */
type CleanupTask = (isStopped: () => boolean) => Promise<unknown>

/** Between two steps, for the requests that are waiting. */
const PAUSE_MS = 5

type CleanupConfig = Pick<Config, 'statisticsKeep' | 'dataDir' | 'checkpointDir'> & {
  readonly keyring: Keyring
  readonly workerNumber: number
  readonly recent: RecentRows
}

type Cleanup = {
  /** When this process looks again for what has expired. */
  readonly nextAt: () => number
  readonly stop: () => Promise<void>
}

/** Until it is stopped: deletes expired rows and prepares the next months of the audit log every hour, and indexes the audit log. */
export function startCleanup(
  log: Log,
  tables: Store,
  others: readonly { readonly deleteExpired: CleanupTask }[],
  { workerNumber, recent, ...config }: CleanupConfig,
): Cleanup {
  const { audit, reuse, accounts, throttle, passkeys, statistics, sourceCalls, rates, catalogue, reviews } =
    tables
  const tasks: readonly CleanupTask[] = [
    () => audit.prepareMonths(Date.now()),
    ...others.map(({ deleteExpired }) => deleteExpired),
    () => reuse.deleteExpired(steadyNow()),
    () => rates.deleteExpired(steadyNow()),
    () => deleteExpiredSessions(accounts),
    () => throttle.deleteExpired(steadyNow()),
    () => passkeys.deleteExpired(steadyNow()),
    () => statistics.deleteExpired(toFirstKept(Date.now(), config.statisticsKeep)),
    () => sourceCalls.deleteExpired(toFirstKept(Date.now(), config.statisticsKeep)),
    () => deleteExpiredVersions(catalogue, Date.now()),
    () => deleteExpiredReviews(reviews, Date.now()),
  ]
  let isStopped = false
  let running: Promise<void> | undefined
  let nextAt = Date.now() + HOUR_MS
  const cleanUp = () => {
    nextAt = Date.now() + HOUR_MS
    running ??= runTasks(tasks, log, () => isStopped).finally(() => {
      running = undefined
    })
  }
  const timer = setInterval(cleanUp, HOUR_MS).unref()
  const stopIndex = startSubjectIndex({
    tables: [tables.subjects, tables.consents],
    recent,
    isForAll: workerNumber === 1,
    onFailure: log.failure,
  })
  const stopErasures =
    workerNumber === 1
      ? keepErasuresFile({ table: tables.erasure, keyring: config.keyring, config, log })
      : undefined
  return {
    nextAt: () => nextAt,
    stop: async () => {
      isStopped = true
      clearInterval(timer)
      await Promise.all([running, stopIndex(), stopErasures?.()])
    },
  }
}

/** One after the other, in small steps. A failure ends its task until the next hour, and no other. */
export async function runTasks(
  tasks: readonly CleanupTask[],
  log: Pick<Log, 'failure'>,
  isStopped: () => boolean,
): Promise<void> {
  for (const task of tasks)
    try {
      while (!isStopped() && isFullStep(await task(isStopped))) await pause(PAUSE_MS)
    } catch (error) {
      log.failure(error)
    }
}

const isFullStep = (deleted: unknown) => typeof deleted === 'number' && deleted >= ROWS_PER_STEP

type RetentionConfig = ArchivingConfig & Pick<Config, 'recordsKeep'>

type RetentionDeps = Omit<ArchivingDeps, 'isStopped'> & { readonly workerNumber: number }

/** Notes the sizes, erases old records and archives old audit rows: in one worker of each node, with each cleanup. */
export const createRetention = (config: RetentionConfig, { workerNumber, ...deps }: RetentionDeps) => ({
  deleteExpired: async (isStopped: () => boolean): Promise<void> => {
    if (workerNumber === 1) await runRetention(config, { ...deps, isStopped })
  },
})

/** A failure of one does not prevent the next. */
async function runRetention(config: RetentionConfig, deps: ArchivingDeps): Promise<void> {
  const { store, log } = deps
  await recordSizes(store, Date.now()).catch(log.failure)
  if (config.recordsKeep !== 'off') await deleteExpired(config.recordsKeep, deps).catch(log.failure)
  await archiveDue(config, deps)
}

/** A clock that is set forward while the process runs must not erase records. */
const cautiousNow = () => Math.min(Date.now(), performance.timeOrigin + performance.now())

async function deleteExpired(
  keepMs: number,
  deps: Parameters<typeof deleteExpiredRecords>[1] & Pick<ArchivingDeps, 'store' | 'log'>,
) {
  try {
    const before = Math.floor(cautiousNow() - keepMs)
    if ((await deps.store.registry.countOld(before, 1)) === 0) return
    // While a backup runs, PostgreSQL cannot forget deleted rows, and each step reads past all of them.
    const records = await withPatientStore(deps.store, (store) =>
      deleteExpiredRecords(before, { ...deps, store }),
    )
    if (records === 0) return
    deps.log.event('info', 'records_expired', { records })
    if (!(await emptyWal(deps.store))) deps.log.event('warn', 'wal_not_emptied', { after: 'records_expired' })
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
    await makeFolder(auditArchiveDir)
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
