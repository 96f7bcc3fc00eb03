import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  copySqlite,
  createCopyFolders,
  findBackup,
  readPrimary,
  refuseLiveDatabase,
  refuseRunningServers,
  requireRoom,
  toFolderError,
} from '../../src/rehearsal/copy-data.ts'
import { newFolder, POSTGRES, SQLITE } from '../engines.ts'
import { createEmptyDatabase, execute, hasPostgres } from '../postgres.ts'

const HOUR_MS = 3_600_000

describe.skipIf(!hasPostgres())('a database of PostgreSQL that is called a copy', () => {
  afterEach(() => void vi.useRealTimers())

  const RUNNING = /^A server is running on that database/
  const RENEW = 'UPDATE nodes SET seen_at = shared_clock(0)'

  /** With the row of a server in it. */
  async function createCopy() {
    const { options, open } = await POSTGRES.createPlace()
    const url = String(options.databaseUrl)
    await execute(
      url,
      `INSERT INTO nodes (owner, node, worker, version, started_at, seen_at, in_flight, requests_per_s, lag_ms)
       VALUES ('process-1', 'node-1', 0, '0.3.0', shared_clock(0), shared_clock(0), 0, 0, 0)`,
    )
    const refuse = (meanwhile = '') =>
      refuseRunningServers({ dataDir: newFolder(), checkpointDir: '', databaseUrl: url }, () =>
        execute(url, meanwhile),
      )
    return { refuse, open }
  }

  it.each([
    ['right', 0],
    ['ahead', HOUR_MS],
    ['behind', -HOUR_MS],
  ])('is refused while a server renews its row, if the clock here is %s', async (_clock, shiftMs) => {
    const { refuse } = await createCopy()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + shiftMs })
    await expect(refuse(RENEW)).rejects.toThrow(RUNNING)
  })

  it.each([
    ['the clock of PostgreSQL was set back', 'UPDATE nodes SET seen_at = seen_at - 60000'],
    ['a server stops', 'DELETE FROM nodes'],
  ])('is refused when %s', async (_why, sql) => {
    const { refuse } = await createCopy()
    await expect(refuse(sql)).rejects.toThrow(RUNNING)
  })

  it('is refused while a server without heartbeats is connected', async () => {
    const { refuse, open } = await createCopy()
    const server = await open()
    await server.meta.read()
    await expect(refuse()).rejects.toThrow(RUNNING)
    await server.close()
  })

  it('is accepted with the rows of servers that were killed', async () => {
    const { refuse } = await createCopy()
    await expect(refuse()).resolves.toBeUndefined()
  })
})

it.skipIf(!hasPostgres())('tells the primary of an address by its start and its timeline', async () => {
  const { options } = await POSTGRES.createPlace()
  const url = String(options.databaseUrl)
  const primary = await readPrimary(url)
  expect(primary).toMatch(/:\d+ \d+\.\d+ \d{8}$/)
  expect(await readPrimary(url)).toBe(primary)
  expect(await readPrimary('postgres://127.0.0.1:9/nowhere')).toBeUndefined()
})

describe.skipIf(!hasPostgres())('the live database, called a copy,', () => {
  const LIVE = 'leads to the database of TABBAT_DATABASE_URL'

  it('is refused, also by another spelling of its address', async () => {
    const url = await createEmptyDatabase()
    await expect(refuseLiveDatabase(url, url)).rejects.toThrow(LIVE)
    const other = url.replace('127.0.0.1', 'localhost')
    expect(other).not.toBe(url)
    await expect(refuseLiveDatabase(url, `${other}?application_name=x`)).rejects.toThrow(LIVE)
  })

  it('is refused by its text while it does not answer', async () => {
    const url = 'postgres://ada@127.0.0.1:9/tabbat'
    await expect(refuseLiveDatabase(url, `${url}?sslmode=disable`)).rejects.toThrow(LIVE)
  })

  it('is told from another database of its server', async () => {
    const [live, copy] = [await createEmptyDatabase(), await createEmptyDatabase()]
    await expect(refuseLiveDatabase(live, copy)).resolves.toBeUndefined()
    await expect(refuseLiveDatabase(undefined, copy)).resolves.toBeUndefined()
  })
})

it('takes the newest backup of a folder by the time in it, and by its name if that cannot be read', () => {
  const folder = newFolder()
  const write = (name: string, text: string, mtime: number) => {
    writeFileSync(join(folder, name), gzipSync(text))
    utimesSync(join(folder, name), mtime, mtime)
  }
  write('a.backup', 'no header', 400)
  write('b.backup', 'no header', 300)
  expect(findBackup(folder)).toBe(join(folder, 'b.backup'))
  const rows = `\n${'["row"]\n'.repeat(100_000)}`
  write('old.backup', `{"format":"tabbat-backup","created_at":"2026-01-01T00:00:00.000Z"}${rows}`, 200)
  write('new.backup', `{"format":"tabbat-backup","created_at":"2026-02-01T00:00:00.000Z"}${rows}`, 100)
  expect(findBackup(folder)).toBe(join(folder, 'new.backup'))
})

it('refuses a copy for which the temporary folder has no room', () => {
  const dataDir = newFolder()
  writeFileSync(join(dataDir, 'tabbat.db'), 'x'.repeat(1000))
  expect(() => requireRoom({ dataDir }, dataDir, 1)).not.toThrow()
  expect(() => requireRoom({ dataDir }, dataDir, 1e15)).toThrow(
    /^The copies need \d+ MB in the temporary folder .*TMPDIR/,
  )
})

it.each([
  ['of SQLite', { errcode: 13 }, /is full/],
  ['of the system', { code: 'ENOSPC', syscall: 'write' }, /is full/],
  ['of permissions', { code: 'EACCES', syscall: 'mkdtemp' }, /cannot be used \(EACCES\)/],
])('says what is wrong with the temporary folder by an error %s', (_whose, error, sentence) => {
  expect(toFolderError('/tmp/x', error)).toMatchObject({ message: expect.stringMatching(sentence) })
})

it('copies a SQLite database as it was, while another process commits between all steps', async () => {
  const { options, open } = await SQLITE.createPlace()
  const server = await open()
  const path = join(options.dataDir, 'tabbat.db')
  const other = new DatabaseSync(path)
  other.exec('CREATE TABLE written AS SELECT 0 AS step, zeroblob(400000) AS bytes')
  let step = 0
  const progress = () => {
    // Not for ever, so that this ends if the copy begins again each time.
    if (step < 500) other.prepare('INSERT INTO written (step) VALUES (?)').run(++step)
  }
  const to = createCopyFolders(newFolder())
  await copySqlite({ dataDir: options.dataDir, checkpointDir: undefined }, to, { rate: 20, progress })
  const copy = new DatabaseSync(join(to.dataDir, 'tabbat.db'))
  expect(step).toBeGreaterThan(2)
  expect(copy.prepare('SELECT MAX(step) AS step FROM written').get()).toEqual({ step: 0 })
  for (const each of [copy, other, server]) await each.close()
})
