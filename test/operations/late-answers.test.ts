import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { App } from '../../src/http/app.ts'
import type { AuditBatch } from '../../src/ledger/commit.ts'
import type { QueueBatch } from '../../src/ledger/queue-rows.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { openIdempotency } from '../../src/verification/idempotency.ts'
import { openLocal } from '../../src/verification/open-local.ts'
import { createQueueWorker } from '../../src/verification/queue/worker.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { createStandIn, type StandIn, withStandIn } from '../battery/stand-in.ts'
import { inject } from '../inject.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('an answer whose commit failed, on %s', (engine) => {
  let server: TestApp
  let app: App
  let source: StandIn
  let key: string
  /** What happens to the commit of an answer. */
  let fate: 'commit' | 'fail' | 'commit unconfirmed'
  let made = 0

  let beforeCommit: () => Promise<void>

  const newNin = () => String(30_000_000_000 + ++made)
  const verify = (nin: string, to: App = app, headers = {}) =>
    inject(to, {
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(key), 'idempotency-key': `order-${nin}`, ...headers },
      payload: { nin, phone: PHONE },
    })
  /** Asks for a new person. The commit of the answer fails. */
  const failOnce = async (how: 'fail' | 'commit unconfirmed') => {
    const nin = newNin()
    fate = how
    expect((await verify(nin)).json()).toMatchObject({ code: 'audit_unavailable' })
    return nin
  }
  const recover = async () => {
    fate = 'commit'
    await expect.poll(() => server.context.audit.isHealthy).toBe(true)
  }
  const countStored = async () =>
    (
      await server.context.store.database
        .prepare('SELECT name FROM idempotency WHERE sealed IS NOT NULL')
        .all()
    ).length
  const phasesOf = async (nin: string) => {
    const { store, toSubjectHash } = server.context
    return (await store.audit.bySubject(toSubjectHash('nin', nin))).map(({ phase }) => phase).toSorted()
  }

  beforeAll(async () => {
    const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
    // One test waits until the time limit is over. The worker of the server is replaced by one that begins when a test says so.
    server = await openTestApp({ TABBAT_STORE_TIMEOUT: '5s', ...database }, { isStopping: true })
    key = await server.createKey({ mode: 'live' })
    const { audit } = server.context.store
    const append = audit.append.bind(audit)
    const hasAnswer = ({ parts }: AuditBatch, queue?: QueueBatch) =>
      (parts?.completions.length ?? 0) > 0 || queue?.changes.some(([, { kind }]) => kind === 'finish')
    Object.assign(audit, {
      append: async (...given: Parameters<typeof append>) => {
        if (!hasAnswer(...given)) return append(...given)
        await beforeCommit()
        if (fate === 'commit') return append(...given)
        if (fate === 'commit unconfirmed') await append(...given)
        throw new Error('Query read timeout')
      },
    })
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    await server.context.store.database.prepare('DELETE FROM idempotency').run()
    source = createStandIn(true)
    app = createApiServer(withStandIn(server.context, source))
    fate = 'commit'
    beforeCommit = async () => {}
  })

  it.each(['fail', 'commit unconfirmed'] as const)(
    'is given to the next request with its key, recorded once, and paid for once (%s)',
    async (how) => {
      const nin = await failOnce(how)
      await recover()
      const next = await verify(nin)
      expect([next.statusCode, next.headers['idempotent-replayed']]).toEqual([200, 'true'])
      expect(source.calls).toEqual([nin])
      expect(await phasesOf(nin)).toEqual(['intent', 'outcome', 'replay'])
    },
  )

  it('is not given to another request with its key, which is refused as if it had been stored at once', async () => {
    const nin = await failOnce('fail')
    await recover()
    const other = await inject(app, {
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(key), 'idempotency-key': `order-${nin}` },
      payload: { nin: newNin(), phone: PHONE },
    })
    expect([other.statusCode, other.json().code]).toEqual([422, 'idempotency_key_reused'])
    expect((await verify(nin)).headers['idempotent-replayed']).toBe('true')
    expect(source.calls).toEqual([nin])
  })

  it('is not stored over the answer of a node that took over its claim', async () => {
    const nin = await failOnce('fail')
    const { context } = server
    await context.store.database.prepare('UPDATE idempotency SET lease_until = 0').run()
    fate = 'commit'
    const elsewhere = createStandIn(true)
    const other = createApiServer({
      ...withStandIn(context, elsewhere),
      local: openLocal(context.store, context.keyring(), context.audit),
      idempotency: openIdempotency(
        { paidCalls: 2 },
        context.store,
        context.keyring(),
        context.audit,
        context.nodes,
      ),
    })
    const ask = async () => (await verify(nin, other)).json().data.request_reference as string
    await expect.poll(async () => (await verify(nin, other)).statusCode).toBe(200)
    const first = await ask()
    await context.idempotency.close()
    expect([await ask(), await ask()]).toEqual([first, first])
    const rows = await context.store.audit.bySubject(context.toSubjectHash('nin', nin))
    const outcomes = rows.filter(({ phase }) => phase === 'outcome').map((row) => row.request_reference)
    expect(new Set(outcomes).size).toBe(outcomes.length)
  })

  it('is stored when the database is back, so that another node can give it', async () => {
    const nin = await failOnce('fail')
    expect(await countStored()).toBe(0)
    await recover()
    await expect.poll(countStored).toBe(1)
    const { context } = server
    const elsewhere = createStandIn(true)
    const other = createApiServer({
      ...withStandIn(context, elsewhere),
      local: openLocal(context.store, context.keyring(), context.audit),
      idempotency: openIdempotency(
        { paidCalls: 2 },
        context.store,
        context.keyring(),
        context.audit,
        context.nodes,
      ),
    })
    expect((await verify(nin, other)).headers['idempotent-replayed']).toBe('true')
    expect([...source.calls, ...elsewhere.calls]).toEqual([nin])
  })

  it('is not stored if its person was erased meanwhile', async () => {
    const nin = await failOnce('fail')
    const { store, toSubjectHash, idempotency } = server.context
    await store.erasure.eraseKept(Buffer.from(toSubjectHash('nin', nin), 'hex'), 0)
    await recover()
    await idempotency.close()
    expect([await countStored(), await phasesOf(nin)]).toEqual([0, ['intent']])
  })

  it('is given to the next request if its commit ended after its caller got 503', async () => {
    const { promise: isAnswered, resolve: goOn } = Promise.withResolvers<void>()
    beforeCommit = () => isAnswered
    const nin = newNin()
    expect((await verify(nin)).statusCode).toBe(503)
    goOn()
    await expect.poll(countStored).toBe(1)
    expect((await verify(nin)).headers['idempotent-replayed']).toBe('true')
    expect(source.calls).toEqual([nin])
  })

  it('ends its pending verification when the database is back, and is paid for once', async () => {
    const { context } = server
    const failures: unknown[] = []
    const worker = createQueueWorker(withStandIn(context, source), {
      owner: context.audit.owner,
      onFailure: (error) => failures.push(error),
    })
    const nin = newNin()
    const accepted = await verify(nin, app, { prefer: 'respond-async' })
    expect(accepted.statusCode).toBe(202)
    const { request_reference: reference } = accepted.json().data
    fate = 'fail'
    await worker.beginDue()
    await worker.idle()
    expect(failures).toHaveLength(1)
    await recover()
    await expect.poll(() => phasesOf(nin)).toEqual(['intent', 'outcome', 'queued'])
    const found = await inject(app, {
      method: 'GET',
      url: `/api/v2/kyc/verifications/${reference}`,
      headers: bearer(key),
    })
    expect([found.statusCode, source.calls]).toEqual([200, [nin]])
  })

  it('is stored before the server ends', async () => {
    await failOnce('fail')
    await recover()
    await server.context.idempotency.close()
    expect(await countStored()).toBe(1)
  })
})
