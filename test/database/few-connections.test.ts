import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import type { Context } from '../../src/context/context.ts'
import { listWarnings } from '../../src/context/warnings.ts'
import type { Database } from '../../src/database/database.ts'
import { openPostgres } from '../../src/database/postgres.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { createContext } from '../../src/server/create-context.ts'
import { bearer, PHONE } from '../app.ts'
import { newFolder } from '../engines.ts'
import { inject } from '../inject.ts'
import { execute, hasOwnPostgres, type Postgres, startOwnPostgres } from '../postgres.ts'

const LIMIT = 20

/** Transactions that all stay open until each of them has a connection, and until `until`. */
function holdTogether(database: Database, count: number, until = Promise.resolve()) {
  const { promise: allOpen, resolve } = Promise.withResolvers<void>()
  let open = 0
  const hold = async () => {
    open += 1
    if (open === count) resolve()
    await allOpen
    await until
  }
  const end = Promise.all(Array.from({ length: count }, () => database.transaction(hold)))
  return { allOpen, end, count: () => open }
}

/** A separate server, because the limit of a user holds for all its databases. */
describe.skipIf(!hasOwnPostgres())(`PostgreSQL with a limit of ${LIMIT} connections`, () => {
  let server: Postgres
  let url: string
  beforeAll(async () => {
    server = await startOwnPostgres()
    await execute(server.url, `CREATE ROLE limited LOGIN CONNECTION LIMIT ${LIMIT}`)
    const created = await server.createDatabase()
    await execute(server.url, `ALTER DATABASE ${new URL(created).pathname.slice(1)} OWNER TO limited`)
    url = Object.assign(new URL(created), { username: 'limited' }).href
  })
  afterAll(() => server.stop())

  const rootKey = randomBytes(32).toString('base64')
  const open = (connections: number) => {
    const settings = {
      TABBAT_DATA_DIR: newFolder(),
      TABBAT_LOG_LEVEL: 'silent',
      TABBAT_ROOT_KEY: rootKey,
      TABBAT_RATE_LIMIT: 'off',
      TABBAT_DATABASE_URL: url,
      TABBAT_DATABASE_CONNECTIONS: String(connections),
      // A refused connection fails a request at once if it is not shared. A slow machine must not.
      TABBAT_STORE_TIMEOUT: '60s',
    }
    return createContext(loadConfig(settings, ''))
  }
  const verify = (node: Context, header: string) =>
    inject(createApiServer(node), {
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(SANDBOX_KEY), 'idempotency-key': header },
      payload: { nin: '12345678901', phone: PHONE },
    })

  it.each([8, LIMIT])('two nodes with up to %i each answer 64 callers without a 503', async (connections) => {
    const nodes = [await open(connections), await open(connections)] as const
    // Each operation of the store on a connection of its own: more at once than the server allows.
    const hold = (node: Context) =>
      Promise.all(
        Array.from({ length: LIMIT }, () => node.store.database.prepare('SELECT pg_sleep(0.05)').run()),
      )
    const held = nodes.map(hold)
    const callers = Array.from({ length: 64 }, async (_each, caller) => {
      for (let asked = 0; asked < 5; asked++) {
        const answer = await verify(nodes[caller % 2] as Context, `${connections}-${caller}-${asked}`)
        expect(answer.statusCode).toBe(200)
      }
    })
    await Promise.all([...callers, ...held])
    for (const node of nodes) await node.close()
  })

  it('opens connections for waiting requests when the server allows more again', async () => {
    const database = await openPostgres(url, { connections: LIMIT })
    const others = await openPostgres(url, { connections: LIMIT })
    const { promise, resolve } = Promise.withResolvers<void>()
    const foreign = holdTogether(others, LIMIT - 1, promise)
    await foreign.allOpen
    const held = holdTogether(database, LIMIT / 2)
    // One has the only connection that is left. The others are refused one, and wait.
    await expect.poll(() => held.count()).toBe(1)
    resolve()
    await foreign.end
    await others.close()
    await held.end
    await database.close()
  })

  it('says at the start that the processes may want more than that', async () => {
    const first = await open(8)
    expect(listWarnings(first).filter((line) => line.startsWith('PostgreSQL allows'))).toEqual([])
    const second = await open(9)
    expect(listWarnings(second)).toContain(
      'PostgreSQL allows 20 connections, and the server processes of this database may open 18 (2 times TABBAT_DATABASE_CONNECTIONS). Lower TABBAT_DATABASE_CONNECTIONS, or raise the limit.',
    )
    await second.close()
    await first.close()
  })

  it('fails after the time of an operation when no connection becomes free', async () => {
    const database = await openPostgres(url, { connections: 2, operationTimeoutMs: 2000 })
    await execute(server.url, 'ALTER ROLE limited CONNECTION LIMIT 1')
    const statement = database.prepare('SELECT 1 AS one')
    const failsInside = () => expect(statement.get()).rejects.toThrow(/timeout exceeded|too many connections/)
    // Patient, because the statement inside takes the whole time of an operation.
    await database.transaction(failsInside, { patient: true })
    expect(await statement.get()).toEqual({ one: 1 })
    await database.close()
    await execute(server.url, `ALTER ROLE limited CONNECTION LIMIT ${LIMIT}`)
  })
})
