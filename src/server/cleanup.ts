import { setTimeout as pause } from 'node:timers/promises'
import { forgetSessions } from '../accounts/sessions.ts'
import { startSubjectIndex } from '../audit/index-subjects.ts'
import type { RecentRows } from '../audit/recent-rows.ts'
import { forgetReviews } from '../catalogue/review.ts'
import { forgetVersions } from '../catalogue/versions.ts'
import type { Config } from '../context/config.ts'
import { HOUR_MS, steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { ROWS_PER_STEP } from '../database/delete-some.ts'
import { keepErasuresFile } from '../people/keep-erasures-file.ts'
import { toFirstKept } from '../statistics/steps.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'

/**
 * Deletes expired rows, or prepares for new ones. One that returns a number has more to delete while it returns a full step. One
 * that takes long asks whether it is to stop.
 */
type Forget = (isStopped: () => boolean) => Promise<unknown>

/** Between two steps, for the requests that are waiting. */
const PAUSE_MS = 5

type CleanupConfig = Pick<Config, 'statisticsKeep' | 'dataDir' | 'checkpointDir'> & {
  readonly keyring: Keyring
  readonly workerNumber: number
  readonly recent: RecentRows
}

/** Until the returned function is called: deletes expired rows and prepares the next months of the audit log every hour, and indexes the audit log. */
export function startCleanup(
  log: Log,
  tables: Store,
  others: readonly { readonly forget: Forget }[],
  { workerNumber, recent, ...config }: CleanupConfig,
): () => Promise<void> {
  const { audit, reuse, accounts, statistics, sourceCalls, rates, catalogue, reviews } = tables
  const tasks: readonly Forget[] = [
    () => audit.prepareMonths(Date.now()),
    ...others.map(({ forget }) => forget),
    () => reuse.forget(steadyNow()),
    () => rates.forget(steadyNow()),
    () => forgetSessions(accounts),
    () => statistics.forget(toFirstKept(Date.now(), config.statisticsKeep)),
    () => sourceCalls.forget(toFirstKept(Date.now(), config.statisticsKeep)),
    () => forgetVersions(catalogue, Date.now()),
    () => forgetReviews(reviews, Date.now()),
  ]
  let isStopped = false
  let running: Promise<void> | undefined
  const cleanUp = () => {
    running ??= forgetAll(tasks, log, () => isStopped).finally(() => {
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
  return async () => {
    isStopped = true
    clearInterval(timer)
    await Promise.all([running, stopIndex(), stopErasures?.()])
  }
}

/** One after the other, in small steps. A failure ends its task until the next hour, and no other. */
export async function forgetAll(
  tasks: readonly Forget[],
  log: Pick<Log, 'failure'>,
  isStopped: () => boolean,
): Promise<void> {
  for (const forget of tasks)
    try {
      while (!isStopped() && isFullStep(await forget(isStopped))) await pause(PAUSE_MS)
    } catch (error) {
      log.failure(error)
    }
}

const isFullStep = (deleted: unknown) => typeof deleted === 'number' && deleted >= ROWS_PER_STEP
