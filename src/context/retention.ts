import type { Config } from '../config/config.ts'
import { UserError } from '../errors.ts'
import { EXPIRY_LOCK, expireRecords } from '../registry/expire-records.ts'
import type { Log } from '../telemetry/log.ts'
import { type ArchivingConfig, type ArchivingDeps, archiveDue } from './audit-archiving.ts'
import { recordSizes } from './storage-report.ts'

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
