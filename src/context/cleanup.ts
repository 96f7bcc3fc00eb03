import { forgetSessions } from '../accounts/sessions.ts'
import { startSubjectIndex } from '../audit/index-subjects.ts'
import { HOUR_MS, steadyNow } from '../contract/time.ts'
import { toRetentionCutoffs } from '../statistics/steps.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'

type Cleanable = { readonly forget: () => Promise<void> }

/** Until the returned function is called: deletes expired rows every hour, and lets the first worker index the audit log. */
export function startCleanup(
  log: Log,
  { reuse, accounts, statistics, subjects }: Store,
  others: readonly Cleanable[],
  workerNumber: number,
): () => Promise<void> {
  const tasks = [
    ...others.map(({ forget }) => forget),
    () => reuse.forget(steadyNow()),
    () => forgetSessions(accounts),
    () => statistics.forget(...toRetentionCutoffs(Date.now())),
  ]
  const cleanUp = () => void Promise.all(tasks.map((task) => task())).catch(log.failure)
  const timer = setInterval(cleanUp, HOUR_MS).unref()
  const stopIndex = workerNumber === 1 ? startSubjectIndex(subjects, log.failure) : undefined
  return async () => {
    clearInterval(timer)
    await stopIndex?.()
  }
}
