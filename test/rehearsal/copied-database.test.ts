import { afterEach, describe, expect, it, vi } from 'vitest'
import { refuseLiveDatabase, refuseRunningServers } from '../../src/rehearsal/copied-database.ts'
import { newFolder, POSTGRES } from '../engines.ts'
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

describe.skipIf(!hasPostgres())('the live database, called a copy,', () => {
  const LIVE = 'leads to the database of TABBAT_DATABASE_URL'
  const addSilentServer = (url: string) => url.replace(/127\.0\.0\.1:\d+/, '$&,127.0.0.1:9')

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

  it('is refused while one of its servers does not answer: the copy may be a spelling of that one', async () => {
    const [live, copy] = [await createEmptyDatabase(), await createEmptyDatabase()]
    const silent = 'postgres://ada@127.0.0.1:9/tabbat'
    const sentence =
      '127.0.0.1:9/tabbat of TABBAT_DATABASE_URL does not answer or refuses the login, so it cannot be told whether the copy is another database. Make it reachable, or unset TABBAT_DATABASE_URL.'
    await expect(refuseLiveDatabase(silent, copy)).rejects.toThrow(sentence)
    await expect(refuseLiveDatabase(silent.replace('127.0.0.1', 'localhost'), silent)).rejects.toThrow(
      'of TABBAT_DATABASE_URL does not answer',
    )
    await expect(refuseLiveDatabase(addSilentServer(live), copy)).rejects.toThrow(
      'of TABBAT_DATABASE_URL does not answer',
    )
  })

  it('is not told from a copy of which a server does not answer', async () => {
    const [live, copy] = [await createEmptyDatabase(), await createEmptyDatabase()]
    await expect(refuseLiveDatabase(live, addSilentServer(copy))).rejects.toThrow(
      'of the copy does not answer or refuses the login, so it cannot be told whether the copy is another database. Make it reachable.',
    )
  })

  it('is told from another database of its server', async () => {
    const [live, copy] = [await createEmptyDatabase(), await createEmptyDatabase()]
    await expect(refuseLiveDatabase(live, copy)).resolves.toBeUndefined()
    await expect(refuseLiveDatabase(undefined, copy)).resolves.toBeUndefined()
  })
})
