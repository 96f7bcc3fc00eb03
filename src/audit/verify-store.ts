import { openWorkerThread } from '../assets/worker-thread.ts'
import { withAuditSnapshot } from '../store/audit-snapshot.ts'
import type { Store } from '../store/store.ts'
import { type Verdict, type VerifyOptions, verifyAuditLog } from './verify-audit-log.ts'
import type { CheckpointOptions, CheckpointsVerdict } from './verify-checkpoints.ts'

/** With fewer rows, a thread takes longer to start than it saves. */
const THREAD_FROM_ROWS = 50_000

/** Verifies the log of a store. In a large SQLite database, a thread of its own looks at the checkpoints meanwhile. */
export function verifyStore(
  store: Store,
  options: Omit<VerifyOptions, 'statements'>,
  threadFromRows = THREAD_FROM_ROWS,
): Promise<Verdict> {
  return withAuditSnapshot(store, async (scan) => {
    if (store.database.dialect !== 'sqlite' || (await scan.countRows()) < threadFromRows)
      return verifyAuditLog(scan, options)
    const { publicKey, file } = options
    const { statements, end } = startThread(store.file, { publicKey, file })
    return verifyAuditLog(scan, { ...options, statements }).finally(end)
  })
}

function startThread(path: string, options: CheckpointOptions) {
  const worker = openWorkerThread('audit-verify', { workerData: { path, options } })
  const { promise, resolve, reject } = Promise.withResolvers<CheckpointsVerdict>()
  worker.once('message', resolve).once('error', reject)
  // Where the rows are faulty nobody waits for it.
  promise.catch(() => {})
  return { statements: promise, end: () => worker.terminate() }
}
