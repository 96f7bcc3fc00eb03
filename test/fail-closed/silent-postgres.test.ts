import { rmSync } from 'node:fs'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlace, type Place, toNin } from '../battery/place.ts'
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
