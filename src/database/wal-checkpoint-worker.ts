import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/** Opened at the first message and kept: opening and closing reads the schema each time. */
let connection: DatabaseSync | undefined

/** Copies the frames that no other connection reads or writes at the moment, and waits for nothing. */
function checkpoint(): void {
  try {
    connection ??= open()
    connection.exec('PRAGMA wal_checkpoint(PASSIVE)')
  } catch {
    // Locked, or the disk failed: the writer copies the frames itself and reports what it meets.
  }
}

function open(): DatabaseSync {
  const opened = new DatabaseSync((workerData as { readonly path: string }).path)
  opened.exec('PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0')
  return opened
}

parentPort?.on('message', (message: 'checkpoint' | 'close') => {
  if (message === 'checkpoint') {
    checkpoint()
    parentPort?.postMessage('done')
    return
  }
  connection?.close()
  parentPort?.close()
})
