import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlace, PHONE, type Place, toNin } from '../battery/place.ts'
import { startTcpProxy, type TcpProxy } from '../cluster/tcp-proxy.ts'
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

/** Repeats the request until it has this status. */
async function until(request: () => ReturnType<Spawned['get']>, status: number): Promise<void> {
  while ((await request())?.status !== status) await new Promise((done) => setTimeout(done, 50))
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

/** A vendor that answers when it is told to. */
async function openHeldVendor() {
  const waiting: ServerResponse[] = []
  let asked = 0
  const server = createServer((_request, response) => {
    asked += 1
    waiting.push(response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const entity = { nin: NIN, first_name: 'ADA', surname: 'OBI', telephone: PHONE }
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
    waiting: () => waiting.length,
    answer: () => {
      for (const response of waiting.splice(0))
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ entity }))
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

describe.skipIf(!hasOwnPostgres())('when PostgreSQL is slow, and each of its operations ends in time', () => {
  let postgres: Postgres
  let vendor: Awaited<ReturnType<typeof openHeldVendor>>
  let network: TcpProxy
  let place: Place
  let server: Spawned
  beforeAll(async () => {
    postgres = await startOwnPostgres()
    vendor = await openHeldVendor()
    const direct = await postgres.createDatabase()
    network = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(direct).port) })
    const made = await createPlace({ TABBAT_DATABASE_URL: direct })
    const throughNetwork = Object.assign(new URL(direct), { port: String(network.port) }).href
    place = {
      ...made,
      settings: { ...made.settings, ...vendor.settings, TABBAT_DATABASE_URL: throughNetwork },
    }
    server = await startSpawned(place)
  })
  afterAll(async () => {
    server.stop()
    await network.close()
    vendor.close()
    await postgres.stop()
    rmSync(place.settings.TABBAT_DATA_DIR ?? '', { recursive: true })
  })

  it('a caller with an Idempotency-Key gets 503 before a vendor is asked, and nothing is spent', async () => {
    network.delay(450)
    const reply = await server.verifyNin(NIN, { 'idempotency-key': 'slow' })
    network.delay(0)
    expect(reply?.headers['retry-after']).toBe('5')
    expect(JSON.parse(reply?.body ?? '')).toMatchObject({ code: 'audit_unavailable' })
    expect(vendor.asked()).toBe(0)
    const spent = () =>
      execute(place.settings.TABBAT_DATABASE_URL ?? '', 'SELECT * FROM source_spend WHERE calls > 0')
    await expect.poll(spent).toEqual([])
  })

  it('an answer that was paid for is replayed if its commit ended after the caller got 503', async () => {
    await until(() => server.get('/health/ready?strict'), 200)
    // The lease of the money takes half of what the request may wait: the rest ends before the time limit of the commit.
    network.delay(170)
    const first = server.verifyNin(NIN, { 'idempotency-key': 'paid' })
    await expect.poll(vendor.waiting, { timeout: 9000 }).toBe(1)
    network.set('stall')
    vendor.answer()
    expect((await first)?.status).toBe(503)
    network.set('pass')
    network.delay(0)
    const repeat = () => server.verifyNin(NIN, { 'idempotency-key': 'paid' })
    await until(repeat, 200)
    expect((await repeat())?.headers['idempotent-replayed']).toBe('true')
    expect(vendor.asked()).toBe(1)
  })
})
