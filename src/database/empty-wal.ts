import { openWorkerThread } from '../assets/worker-thread.ts'
import type { OpenDatabase } from './open-database.ts'

/**
 * Empties the write-ahead log of SQLite, which still holds the pages as they were before rows were erased. False: a long read, such
 * as a backup, prevents it. In a thread of its own, because copying the log takes longer than a request may wait.
 */
export async function emptyWal({
  database,
  file,
}: Pick<OpenDatabase, 'database' | 'file'>): Promise<boolean> {
  if (database.dialect === 'postgres') return true
  const { promise, resolve } = Promise.withResolvers<boolean>()
  let isEmptied = false
  const worker = openWorkerThread('wal-checkpoint', { workerData: { path: file } })
  worker.on('message', (result: boolean) => {
    isEmptied = result
    worker.postMessage('close')
  })
  worker.on('error', () => resolve(false)).on('exit', () => resolve(isEmptied))
  worker.postMessage('empty')
  return promise
}
