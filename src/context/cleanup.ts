import { forgetSessions } from '../accounts/sessions.ts'
import { HOUR_MS, steadyNow } from '../contract/time.ts'
import { toRetentionCutoffs } from '../statistics/steps.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'

type Cleanable = { readonly forget: () => Promise<void> }

/** Deletes expired rows every hour, until the returned function is called. */
export function startCleanup(
  log: Log,
  { reuse, accounts, statistics }: Store,
  others: readonly Cleanable[],
): () => void {
  const tasks = [
    ...others.map(({ forget }) => forget),
    () => reuse.forget(steadyNow()),
    () => forgetSessions(accounts),
    () => statistics.forget(...toRetentionCutoffs(Date.now())),
  ]
  const cleanUp = () => void Promise.all(tasks.map((task) => task())).catch(log.failure)
  const timer = setInterval(cleanUp, HOUR_MS).unref()
  return () => clearInterval(timer)
}
