import { type MessagePort, parentPort } from 'node:worker_threads'
import { createTables } from '../../src/context/tables.ts'
import { runWriter, type WriterData } from '../../src/database/sqlite-writer.ts'

/** A thread that runs the writers of many databases, one for each port: see shared-writers.ts. */
export type NewWriter = { readonly port: MessagePort; readonly data: WriterData }

parentPort?.on('message', ({ port, data }: NewWriter) => {
  try {
    runWriter(port, data, createTables)
  } catch (error) {
    port.postMessage({ thrown: error })
    port.close()
  }
})
