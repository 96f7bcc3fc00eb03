import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
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

/** How long to try to empty the log. A moment without readers and writers is needed, so it is tried often. */
const EMPTY_WAIT_MS = 3000
const EMPTY_PAUSE_MS = 10

async function empty(): Promise<boolean> {
  const until = performance.now() + EMPTY_WAIT_MS
  while (!emptyNow()) {
    if (performance.now() > until) return false
    await pause(EMPTY_PAUSE_MS)
  }
  return true
}

/** Returns false at once if a reader uses the log: waiting for it would block all writers. */
function emptyNow(): boolean {
  // Most of it without the lock of the writer.
  checkpoint()
  try {
    const row = connection?.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
    return row?.busy === 0
  } catch {
    return false
  }
}

parentPort?.on('message', async (message: 'checkpoint' | 'empty' | 'close') => {
  if (message === 'checkpoint') {
    checkpoint()
    parentPort?.postMessage('done')
  } else if (message === 'empty') parentPort?.postMessage(await empty())
  else {
    connection?.close()
    parentPort?.close()
  }
})
