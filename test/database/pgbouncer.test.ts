import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import type { Context } from '../../src/context/context.ts'
import { openStore } from '../../src/context/store.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { createContext } from '../../src/server/create-context.ts'
import { bearer, PHONE } from '../app.ts'
import { newFolder } from '../engines.ts'
import { inject } from '../inject.ts'
import { createTestDatabase, execute, hasPostgres } from '../postgres.ts'
import { type PgBouncer, startPgBouncer, whyNoPgBouncer } from './pgbouncer.ts'

const missing = hasPostgres() ? whyNoPgBouncer() : 'there is no PostgreSQL'
if (missing !== undefined) console.warn(`Tests with PgBouncer are skipped: ${missing}`)

describe.skipIf(missing !== undefined)('PgBouncer in transaction mode', () => {
  let bouncer: PgBouncer
  let url: string
  let nodes: readonly Context[]
  const rootKey = randomBytes(32).toString('base64')
  beforeAll(async () => {
    const direct = await createTestDatabase()
    // A server whose commits do not wait for the disk unless they are told to.
    await execute(direct, `ALTER DATABASE ${new URL(direct).pathname.slice(1)} SET synchronous_commit = off`)
    bouncer = await startPgBouncer(direct)
    url = bouncer.toUrl(direct)
    const open = () => {
      const settings = {
        TABBAT_DATA_DIR: newFolder(),
        TABBAT_LOG_LEVEL: 'silent',
        TABBAT_ROOT_KEY: rootKey,
        TABBAT_DATABASE_URL: url,
      }
      return createContext(loadConfig(settings, ''))
    }
    nodes = [await open(), await open()]
    await execute(
      direct,
      `CREATE FUNCTION require_durable() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF current_setting('synchronous_commit') <> 'on' THEN RAISE EXCEPTION 'not durable'; END IF;
         RETURN NEW;
       END $$`,
      'CREATE TRIGGER durable BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION require_durable()',
    )
  })
  afterAll(async () => {
    for (const node of nodes) await node.close()
    await bouncer.stop()
  })

  const verify = async (index: number, header: string) => {
    const answer = await inject(createApiServer(nodes[index % 2] as Context), {
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(SANDBOX_KEY), 'idempotency-key': header },
      payload: { nin: String(40_000_000_000 + index), phone: PHONE },
    })
    return { status: answer.statusCode, body: answer.body }
  }
  const verifyMany = (name: string) =>
    Promise.all(Array.from({ length: 40 }, (_each, index) => verify(index, `${name}-${index}`)))

  it('two nodes answer many callers, durably, and replay', async () => {
    const answers = await verifyMany('first')
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await verifyMany('first')).toEqual(answers)
  })

  it('the same when it has opened new connections to the server', async () => {
    await bouncer.reconnect()
    const answers = await verifyMany('second')
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await verifyMany('second')).toEqual(answers)
  })

  it('limits the time of every statement, and leaves no setting to other clients', async () => {
    const store = await openStore({ dataDir: newFolder(), databaseUrl: url, writerThread: true })
    const read = store.database.prepare(`SELECT current_setting('statement_timeout') AS "limit"`)
    const limits = await Promise.all(Array.from({ length: 10 }, () => read.get()))
    expect(limits).toEqual(limits.map(() => ({ limit: '2763ms' })))
    const inside = await store.database.transaction((database) =>
      database.prepare(`SELECT current_setting('statement_timeout') AS "limit"`).get(),
    )
    expect(inside).toEqual({ limit: '2763ms' })
    await store.close()
    expect(await execute(url, 'SHOW statement_timeout')).toEqual([{ statement_timeout: '0' }])
  })

  it('rolls back what failed', async () => {
    const store = await openStore({ dataDir: newFolder(), databaseUrl: url })
    const broken = store.database.transaction(async (tx) => {
      await tx.prepare("INSERT INTO imports VALUES ('bouncer', 'b', 1)").run()
      await tx.prepare('SELECT 1/0').run()
    })
    await expect(broken).rejects.toMatchObject({ code: '22012' })
    await expect(store.database.prepare('SELECT 1/0').run()).rejects.toMatchObject({ code: '22012' })
    expect(await store.registry.importProgress('bouncer')).toBeUndefined()
    await store.close()
  })
})
