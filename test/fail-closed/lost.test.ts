import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, renameSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createPlace, toNin } from '../battery/place.ts'
import { has } from './causes.ts'
import { startSpawned } from './spawned.ts'

const FILES = ['tabbat.db', 'tabbat.db-wal', 'tabbat.db-shm']
const MAX_REQUESTS = 20_000

/** What happens to the files of a running server. */
const LOSSES: readonly (readonly [string, (folder: string) => void])[] = [
  [
    'all of its files are removed',
    (folder) => {
      for (const name of FILES) rmSync(join(folder, name))
    },
  ],
  ['the data folder is removed', (folder) => rmSync(folder, { recursive: true })],
  ['its write-ahead log is removed', (folder) => rmSync(join(folder, 'tabbat.db-wal'))],
  ['its -shm file is removed', (folder) => rmSync(join(folder, 'tabbat.db-shm'))],
  [
    'another file is moved over it',
    (folder) => {
      copyFileSync(join(folder, 'tabbat.db'), join(folder, 'copy'))
      renameSync(join(folder, 'copy'), join(folder, 'tabbat.db'))
    },
  ],
  ['it is cut short', (folder) => truncateSync(join(folder, 'tabbat.db'), 4096)],
  ['its write-ahead log is emptied', (folder) => truncateSync(join(folder, 'tabbat.db-wal'), 0)],
]

describe('the database of a running server:', () => {
  it.each(LOSSES)('when %s, no request is acknowledged and the server exits', async (name, lose) => {
    const place = await createPlace({ TABBAT_LOG_LEVEL: 'info' })
    const folder = place.settings.TABBAT_DATA_DIR ?? ''
    const server = await startSpawned(place)
    try {
      expect((await server.verifyNin(toNin(0)))?.status).toBe(200)
      lose(folder)
      for (let index = 0; index < MAX_REQUESTS && server.child.exitCode === null; index++) {
        const reply = await server.verifyNin(toNin(1))
        expect([503, undefined]).toContain(reply?.status)
        if (!reply) break
      }
      expect(await server.ended).toBe(1)
      const { events } = await server.log()
      // SQLite may detect the damage before the files are checked.
      const fatal = events.filter((event) => /^database_(lost|damaged)$/.test(event))
      expect(fatal).toHaveLength(1)
      if (!name.includes('short')) expect(fatal).toEqual(['database_lost'])
    } finally {
      server.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('a server with two workers exits, and creates no new database', async () => {
    const place = await createPlace({ TABBAT_WORKERS: '2' })
    const folder = place.settings.TABBAT_DATA_DIR ?? ''
    const server = await startSpawned(place)
    try {
      expect((await server.verifyNin(toNin(0)))?.status).toBe(200)
      for (const name of FILES) rmSync(join(folder, name))
      expect(await server.ended).toBe(1)
      expect(FILES.filter((name) => existsSync(join(folder, name)))).toEqual([])
    } finally {
      server.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('an idle server detects it too', async () => {
    const place = await createPlace({ TABBAT_LOG_LEVEL: 'info' })
    const folder = place.settings.TABBAT_DATA_DIR ?? ''
    const server = await startSpawned(place)
    try {
      rmSync(join(folder, 'tabbat.db'))
      expect(await server.ended).toBe(1)
      expect((await server.log()).events).toContain('database_lost')
    } finally {
      server.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it.skipIf(!has('sqlite3'))(
    'another program that opens and closes it leaves the write-ahead log in place (skipped without sqlite3)',
    async () => {
      const place = await createPlace()
      const folder = place.settings.TABBAT_DATA_DIR ?? ''
      const server = await startSpawned(place)
      try {
        expect((await server.verifyNin(toNin(0)))?.status).toBe(200)
        execFileSync('sqlite3', [join(folder, 'tabbat.db'), 'SELECT COUNT(*) FROM registry'])
        expect(FILES.filter((name) => existsSync(join(folder, name)))).toEqual(FILES)
        // A checkpoint by another program, which empties the log, is no loss.
        execFileSync('sqlite3', [join(folder, 'tabbat.db'), 'PRAGMA wal_checkpoint(TRUNCATE)'])
        expect((await server.verifyNin(toNin(1)))?.status).toBe(200)
      } finally {
        server.stop()
        rmSync(folder, { recursive: true, force: true })
      }
    },
  )
})
