import { isSea } from 'node:sea'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import { isCheckout, readAssetText } from './asset.ts'

/** The worker threads by name, with their files. The build makes a bundle of each. */
export const WORKER_THREADS = {
  'chain-check': 'src/admin/chain-check-worker.ts',
  'record-count': 'src/admin/record-count-worker.ts',
  search: 'src/admin/search-worker.ts',
  'audit-verify': 'src/audit/verify/verify-worker.ts',
  scrub: 'src/registry/scrub-worker.ts',
  sealing: 'src/registry/import/sealing-worker.ts',
  'sqlite-writer': 'src/context/sqlite-worker.ts',
  'wal-checkpoint': 'src/database/wal-checkpoint-worker.ts',
} as const

type WorkerThread = keyof typeof WORKER_THREADS

/** Starts a worker thread from the checkout, from the bundle, or from inside the single executable. */
export function openWorkerThread(name: WorkerThread, options: WorkerOptions): Worker {
  if (isSea()) return new Worker(readAssetText(`worker/${name}.cjs`), { ...options, eval: true })
  const path = isCheckout ? `../../${WORKER_THREADS[name]}` : `./worker-${name}.js`
  return new Worker(new URL(path, import.meta.url), options)
}
