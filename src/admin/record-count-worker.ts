import { parentPort, workerData } from 'node:worker_threads'
import { countRecords } from '../registry/stats.ts'
import { openStore, type StoreOptions } from '../store/store.ts'

/** A failure is thrown in the thread, and reaches the caller as its error event. */
async function run(): Promise<void> {
  const store = await openStore(workerData as StoreOptions)
  try {
    parentPort?.postMessage(await countRecords(store))
  } finally {
    await store.close()
  }
}

void run()
