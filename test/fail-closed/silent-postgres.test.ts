import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createPlace, PHONE, type Place, toNin } from '../battery/place.ts'
import { startTcpProxy } from '../cluster/tcp-proxy.ts'
import { execute, hasOwnPostgres, type Postgres, startOwnPostgres } from '../postgres.ts'
import { type Spawned, startSpawned } from './spawned.ts'

/** Much longer than TABBAT_STORE_TIMEOUT, much shorter than a request without that setting took. */
const GIVEN_UP_MS = 10_000

/** The number of connections of the client. */
const CALLERS = 8

const statusOf = async (reply: ReturnType<Spawned['verifyNin']>) => {
  const late = new Promise<'late'>((done) => setTimeout(done, GIVEN_UP_MS, 'late').unref())
  const first = await Promise.race([reply, late])
  return first === 'late' ? first : first?.status
}

/** Repeats the request until it has this status, and returns the reply. */
async function until(request: () => ReturnType<Spawned['get']>, status: number) {
  let reply: Awaited<ReturnType<Spawned['get']>>
  const ask = async () => {
    reply = await request()
    return reply?.status
  }
  await expect.poll(ask).toBe(status)
  return reply
}

describe.skipIf(!hasOwnPostgres())('when PostgreSQL', () => {
  let postgres: Postgres
  let place: Place
  let server: Spawned
  beforeAll(async () => {
    postgres = await startOwnPostgres()
    place = await createPlace({
      TABBAT_DATABASE_URL: await postgres.createDatabase(),
      TABBAT_STORE_TIMEOUT: '1s',
      TABBAT_LOG_LEVEL: 'info',
    })
    server = await startSpawned(place)
  })
  afterAll(async () => {
    server.stop()
    await postgres.stop()
    rmSync(place.settings.TABBAT_DATA_DIR ?? '', { recursive: true })
  })
  const isGood = () => server.verifyNin(toNin(0))

  it.each([
    ['audit', 'ACCESS EXCLUSIVE'],
    ['audit', 'SHARE'],
    ['statistics', 'SHARE'],
  ])(
    'holds a lock on %s only (%s), callers get 503 in time and the server is not ready',
    async (table, mode) => {
      await until(isGood, 200)
      await until(() => server.get('/health/ready?strict'), 200)
      const other = new Client({ connectionString: place.settings.TABBAT_DATABASE_URL })
      await other.connect()
      await other.query(`BEGIN; LOCK TABLE ${table} IN ${mode} MODE`)
      const together = await Promise.all(
        Array.from({ length: CALLERS }, (_each, index) => statusOf(server.verifyNin(toNin(index)))),
      )
      expect(new Set(together)).toEqual(new Set([503]))
      expect((await server.get('/health/ready?strict'))?.status).toBe(503)
      await other.query('ROLLBACK')
      await until(isGood, 200)
      await until(() => server.get('/health/ready?strict'), 200)
      await other.end()
    },
  )

  it.skipIf(process.platform === 'win32')(
    'is stopped, callers get 503 in time, the server is not ready, and it recovers when PostgreSQL continues',
    async () => {
      await until(isGood, 200)
      const processes = await execute(
        place.settings.TABBAT_DATABASE_URL ?? '',
        `SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS pid
         UNION ALL SELECT pid::text FROM pg_stat_activity WHERE application_name = 'tabbat'`,
      )
      const pids = processes.map(({ pid }) => Number(pid))
      for (const pid of pids) process.kill(pid, 'SIGSTOP')
      try {
        for (let round = 0; round < 3; round++) {
          const together = await Promise.all(
            Array.from({ length: CALLERS }, (_each, index) =>
              statusOf(server.verifyNin(toNin(index), { 'idempotency-key': `stopped-${index}` })),
            ),
          )
          expect(new Set(together)).toEqual(new Set([503]))
          // Revocations cannot be read now, but look-ups of lists still work.
          expect(await statusOf(server.lookUp())).toBe(200)
        }
        expect((await server.get('/health/ready?strict'))?.status).toBe(503)
        expect((await server.get('/health/ready'))?.status).toBe(200)
      } finally {
        for (const pid of pids) process.kill(pid, 'SIGCONT')
      }
      await until(isGood, 200)
    },
  )
})

/** Known to the vendor. */
const NIN = '50000000100'

/** A vendor that holds its first answer until it is told to go on. */
async function openHeldVendor() {
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>()
  let asked = 0
  const entity = { nin: NIN, first_name: 'ADA', surname: 'OBI', telephone: PHONE }
  const server = createServer(async (_request, response) => {
    asked += 1
    await mayAnswer
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ entity }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    settings: {
      TABBAT_NIN_SOURCES: 'dojah',
      TABBAT_DOJAH_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      TABBAT_DOJAH_APP_ID: 'app',
      TABBAT_DOJAH_SECRET: 'secret',
      TABBAT_DOJAH_PRICE: '50',
      TABBAT_DOJAH_DAILY_CAP: '5000',
    },
    asked: () => asked,
    answer,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

describe.skipIf(!hasOwnPostgres())('when PostgreSQL is slow or silent while a vendor is asked', () => {
  let postgres: Postgres
  beforeAll(async () => {
    postgres = await startOwnPostgres()
  })
  afterAll(() => postgres.stop())

  /** A server of its own: what a slow request has left behind can refuse the next one. */
  async function open() {
    const vendor = await openHeldVendor()
    onTestFinished(vendor.close)
    const direct = await postgres.createDatabase()
    const network = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(direct).port) })
    onTestFinished(network.close)
    const { settings, keys } = await createPlace({ TABBAT_DATABASE_URL: direct })
    onTestFinished(() => rmSync(settings.TABBAT_DATA_DIR ?? '', { recursive: true }))
    const throughNetwork = Object.assign(new URL(direct), { port: String(network.port) }).href
    const server = await startSpawned({
      settings: { ...settings, ...vendor.settings, TABBAT_DATABASE_URL: throughNetwork },
      keys,
    })
    onTestFinished(server.stop)
    await until(() => server.get('/health/ready?strict'), 200)
    return { vendor, network, server, direct }
  }

  it('a caller with an Idempotency-Key gets 503 before a vendor is asked, and nothing is spent', async () => {
    const { vendor, network, server, direct } = await open()
    // Each operation ends in time, but all together do not.
    network.delay(450)
    const reply = await server.verifyNin(NIN, { 'idempotency-key': 'slow' })
    network.delay(0)
    expect(reply?.headers['retry-after']).toBe('5')
    expect(JSON.parse(reply?.body ?? '')).toMatchObject({ code: 'audit_unavailable' })
    await expect.poll(() => execute(direct, 'SELECT * FROM spend_shares WHERE calls > 0')).toEqual([])
    expect(vendor.asked()).toBe(0)
  })

  it('an answer that was paid for is given to the next request with its key, although its commit failed', async () => {
    const { vendor, network, server } = await open()
    const verify = () => server.verifyNin(NIN, { 'idempotency-key': 'paid' })
    const first = verify()
    await expect.poll(vendor.asked).toBe(1)
    network.set('stall')
    vendor.answer()
    expect((await first)?.status).toBe(503)
    network.set('pass')
    const next = await until(verify, 200)
    expect(next?.headers['idempotent-replayed']).toBe('true')
    expect(vendor.asked()).toBe(1)
  })
})
