import { parentPort, workerData } from 'node:worker_threads'
import { withSqliteAuditSnapshot } from '../store/audit-snapshot.ts'
import { type CheckpointOptions, verifyCheckpoints } from './verify-checkpoints.ts'

const { path, options } = workerData as { path: string; options: CheckpointOptions }

/** A failure ends the thread, and the caller gets it as the error event. */
async function run(): Promise<void> {
  parentPort?.postMessage(await withSqliteAuditSnapshot(path, (scan) => verifyCheckpoints(scan, options)))
}

void run()
