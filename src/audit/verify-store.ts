import { openWorkerThread } from '../assets/worker-thread.ts'
import { withAuditSnapshot } from '../store/audit-snapshot.ts'
import type { Store } from '../store/store.ts'
import { type Verdict, type VerifyOptions, verifyAuditLog } from './verify-audit-log.ts'
import type { CheckpointOptions, CheckpointsVerdict } from './verify-checkpoints.ts'

/** With fewer rows, starting a thread costs more than it saves. */
const THREAD_FROM_ROWS = 50_000

/** Verifies the log of a store. In a large SQLite database, a thread checks the checkpoints at the same time. */
export function verifyStore(
  store: Store,
  options: Omit<VerifyOptions, 'checkpoints'>,
  threadFromRows = THREAD_FROM_ROWS,
): Promise<Verdict> {
  return withAuditSnapshot(store, async (scan) => {
    if (store.database.dialect !== 'sqlite' || (await scan.countRows()) < threadFromRows)
      return verifyAuditLog(scan, options)
    const { publicKey, file } = options
    const { checkpoints, end } = startThread(store.file, { publicKey, file })
    return verifyAuditLog(scan, { ...options, checkpoints }).finally(end)
  })
}

function startThread(path: string, options: CheckpointOptions) {
  const worker = openWorkerThread('audit-verify', { workerData: { path, options } })
  const { promise, resolve, reject } = Promise.withResolvers<CheckpointsVerdict>()
  worker.once('message', resolve).once('error', reject)
  // Not awaited when the rows are faulty.
  promise.catch(() => {})
  return { checkpoints: promise, end: () => worker.terminate() }
}
