import { parentPort, workerData } from 'node:worker_threads'
import { type DatabaseOptions, openDatabase } from '../database/open-database.ts'
import { registryTable } from '../registry/registry-table.ts'
import { countRecords } from '../registry/stats.ts'

/** An error reaches the caller as the error event of the worker. */
async function run(): Promise<void> {
  const { database, close } = await openDatabase(workerData as DatabaseOptions)
  try {
    parentPort?.postMessage(await countRecords({ registry: registryTable.create(database) }))
  } finally {
    await close()
  }
}

void run()
