import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { openStore } from '../../src/context/store.ts'
import { openWriter } from '../../src/database/sqlite-writer.ts'
import { newFolder } from '../engines.ts'

/** Each is 25 frames: together more than the 1000 at which the thread starts, and fewer than the 8000 of a commit. */
const WRITES = 80

it('copies the write-ahead log to the database in another thread, long before a commit would have to', async () => {
  const dataDir = newFolder()
  const path = join(dataDir, 'tabbat.db')
  const store = await openStore({ dataDir, databaseUrl: undefined, writerThread: false })
  const writer = openWriter(path)
  const observer = new DatabaseSync(path)
  const count = () =>
    observer.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { log: number; checkpointed: number }
  try {
    const write = (characters: number) =>
      writer.call({ table: 'meta', method: 'set', args: [{ last_backup_at: '1'.repeat(characters) }] })
    for (let written = 0; written < WRITES; written++) await write(100_000 + written)
    // A log that was copied as a whole begins again with the next write.
    const countLeft = async () => {
      // The frames are counted after a commit, at most every 20 ms.
      await write(1)
      const { log, checkpointed } = count()
      return log - checkpointed
    }
    await expect.poll(countLeft).toBeLessThan(WRITES * 25 - 900)
  } finally {
    observer.close()
    await store.close()
    await writer.close()
  }
  // The last connection has removed it: the thread has closed its own.
  expect(existsSync(`${path}-wal`)).toBe(false)
})
