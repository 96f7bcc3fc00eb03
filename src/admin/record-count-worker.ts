import { parentPort, workerData } from 'node:worker_threads'
import { countRecords } from '../registry/stats.ts'
import { openStore, type StoreOptions } from '../store/store.ts'

/** An error reaches the caller as the error event of the worker. */
async function run(): Promise<void> {
  const store = await openStore(workerData as StoreOptions)
  try {
    parentPort?.postMessage(await countRecords(store))
  } finally {
    await store.close()
  }
}

void run()
