import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../src/context/store.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import type { App } from '../../src/http/app.ts'
import type { AuditRow } from '../../src/ledger/audit-row.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import type { SingleFlight } from '../../src/sources/single-flight.ts'
import { SourceError } from '../../src/sources/source.ts'
import { openIdempotency } from '../../src/verification/idempotency.ts'
import { openLocal } from '../../src/verification/open-local.ts'
import { createReference } from '../../src/verification/verification-request.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { createStandIn, type StandIn, withStandIn } from '../battery/stand-in.ts'
import { inject } from '../inject.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

let server: TestApp
let app: App
let source: StandIn
let key: string
let made = 0

const newNumber = () => String(30_000_000_000 + ++made)
const newHeader = () => `order-${++made}`

type Extra = { readonly phone?: string; readonly as?: string; readonly to?: App }

const post = (
  operation: string,
  payload: object,
  header: string | undefined,
  { as = key, to = app }: Extra,
) =>
  inject(to, {
    method: 'POST',
    url: `/api/v2/kyc/verify-${operation}`,
    headers: { ...bearer(as), ...(header === undefined ? {} : { 'idempotency-key': header }) },
    payload,
  })
const verifyNin = (nin: string, header?: string, extra: Extra = {}) =>
  post('nin', { nin, phone: extra.phone ?? PHONE }, header, extra)
const verifyBvn = (bvn: string, amount: string, header?: string, extra: Extra = {}) =>
  post('bvn', { bvn, phone: PHONE, amount }, header, extra)

type Reply = Awaited<ReturnType<typeof verifyNin>>
const isReplay = (answer: Reply) => answer.headers['idempotent-replayed'] === 'true'
const codeOf = (answer: Reply) => [answer.statusCode, answer.json().code]
const referenceOf = (answer: Reply): string => answer.json().data.request_reference

const run = (sql: string) => server.context.store.database.prepare(sql)
const subjectRows = (nin: string, kind: 'nin' | 'bvn' = 'nin') =>
  server.context.store.audit.bySubject(server.context.toSubjectHash(kind, nin))
const phasesOf = (rows: readonly AuditRow[]) => rows.map(({ phase }) => phase).toSorted()

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('Idempotency-Key on %s', (engine) => {
  beforeAll(async () => {
    const settings =
      engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : ({} as const)
    server = await openTestApp(settings)
    key = await server.createKey({ mode: 'live' })
  })
  afterAll(() => server.close())
  beforeEach(() => {
    source = createStandIn(true)
    app = createApiServer(withStandIn(server.context, source))
  })

  describe('the first response is replayed byte for byte', () => {
    it.each([
      ['200', '30900000001', 200],
      ['422 not_verified', '30900000422', 422],
    ])('%s', async (_what, nin, status) => {
      const header = newHeader()
      const first = await verifyNin(nin, header)
      const second = await verifyNin(nin, header)
      const third = await verifyNin(nin, header)
      expect([first, second, third].map(({ statusCode }) => statusCode)).toEqual([status, status, status])
      expect([first, second, third].map(isReplay)).toEqual([false, true, true])
      expect(second.rawPayload.equals(first.rawPayload)).toBe(true)
      expect(third.rawPayload.equals(first.rawPayload)).toBe(true)
      expect(second.headers['content-type']).toBe(first.headers['content-type'])
      expect(source.calls).toEqual([nin])
    })

    it('for a BVN, and for the same phone in another spelling', async () => {
      const header = newHeader()
      const first = await verifyBvn('30900000002', '100', header)
      const payload = { bvn: '30900000002', phone: '+234 803 123 4567', amount: '100' }
      const second = await post('bvn', payload, header, {})
      expect([isReplay(second), second.body]).toEqual([true, first.body])
    })

    it('and every replay is audited under the first reference', async () => {
      const [nin, header] = [newNumber(), newHeader()]
      const first = await verifyNin(nin, header)
      await verifyNin(nin, header)
      await verifyNin(nin, header)
      const rows = await subjectRows(nin)
      expect(phasesOf(rows)).toEqual(['intent', 'outcome', 'replay', 'replay'])
      expect(new Set(rows.map((row) => row.request_reference))).toEqual(new Set([referenceOf(first)]))
      const released = new Set(rows.flatMap((row) => row.fields_released ?? []))
      expect(released.size).toBe(1)
      expect(source.calls).toHaveLength(1)
    })
  })

  describe('409 while the first is under way', () => {
    it('and its answer afterwards', async () => {
      const [nin, header] = [newNumber(), newHeader()]
      const letGo = source.hold()
      const first = verifyNin(nin, header)
      await source.wasAsked(1)
      const meanwhile = await verifyNin(nin, header)
      expect(codeOf(meanwhile)).toEqual([409, 'idempotency_in_progress'])
      expect(meanwhile.headers['retry-after']).toBe('1')
      letGo()
      const answer = await first
      const after = await verifyNin(nin, header)
      expect([answer.statusCode, isReplay(answer)]).toEqual([200, false])
      expect(referenceOf(meanwhile), 'the reference of the verification in progress').toBe(
        referenceOf(answer),
      )
      expect([after.body, isReplay(after)]).toEqual([answer.body, true])
      expect(source.calls).toEqual([nin])
    })

    it('to all but one of a hundred at once, and one source call', async () => {
      const [nin, header] = [newNumber(), newHeader()]
      const letGo = source.hold()
      const all = Array.from({ length: 100 }, () => verifyNin(nin, header))
      await source.wasAsked(1)
      letGo()
      const answers = await Promise.all(all)
      const bodies = answers.filter(({ statusCode }) => statusCode === 200).map(({ body }) => body)
      expect(new Set(bodies).size).toBe(1)
      for (const answer of answers) expect([200, 409]).toContain(answer.statusCode)
      const again = await verifyNin(nin, header)
      expect([again.body, isReplay(again)]).toEqual([bodies[0], true])
      expect(source.calls).toEqual([nin])
      const outcomes = (await subjectRows(nin)).filter(({ phase }) => phase === 'outcome')
      expect(outcomes).toHaveLength(1)
    })
  })

  describe('422', () => {
    it('idempotency_key_reused with another number, phone or amount', async () => {
      const [nin, header] = [newNumber(), newHeader()]
      await verifyNin(nin, header)
      expect(codeOf(await verifyNin(newNumber(), header))).toEqual([422, 'idempotency_key_reused'])
      expect(codeOf(await verifyNin(nin, header, { phone: '08031234568' }))).toEqual([
        422,
        'idempotency_key_reused',
      ])
      const bvnHeader = newHeader()
      await verifyBvn(nin, '100', bvnHeader)
      expect(codeOf(await verifyBvn(nin, '100.01', bvnHeader))).toEqual([422, 'idempotency_key_reused'])
      expect(source.calls).toEqual([nin, nin])
    })

    it('idempotency_key_reused also while the first is under way', async () => {
      const [nin, header] = [newNumber(), newHeader()]
      const letGo = source.hold()
      const first = verifyNin(nin, header)
      await source.wasAsked(1)
      expect(codeOf(await verifyNin(newNumber(), header))).toEqual([422, 'idempotency_key_reused'])
      letGo()
      await first
    })

    it.each([
      ['empty', ''],
      ['with a space', 'a b'],
      ['longer than 255', 'x'.repeat(256)],
      ['beyond ASCII', 'ordér'],
    ])('validation_failed when it is %s', async (_why, header) => {
      const answer = await verifyNin(newNumber(), header)
      expect(codeOf(answer)).toEqual([422, 'validation_failed'])
      expect(Object.keys(answer.json().errors)).toEqual(['Idempotency-Key'])
      expect(source.calls).toEqual([])
    })

    it('not for a key of 255 characters', async () => {
      expect((await verifyNin(newNumber(), '~'.repeat(255))).statusCode).toBe(200)
    })
  })

  it('is scoped to one API key and one operation', async () => {
    const [nin, header] = [newNumber(), newHeader()]
    const other = await server.createKey({ mode: 'live' })
    const answers = [
      await verifyNin(nin, header),
      await verifyNin(nin, header, { as: other }),
      await verifyBvn(nin, '1', header),
    ]
    expect(answers.map(isReplay)).toEqual([false, false, false])
    expect(new Set(answers.map(referenceOf)).size).toBe(3)
    expect(source.calls).toHaveLength(3)
  })

  describe('what is not stored', () => {
    it.each([
      ['a time-out', new SourceError('stand-in', 'timeout'), 504],
      ['a source that is unreachable', new SourceError('stand-in', 'unreachable'), 503],
      ['nonsense from a source', new SourceError('stand-in', 'bad_response'), 502],
      ['a bug', new TypeError('a bug'), 500],
    ])('%s', async (_what, error, status) => {
      const [nin, header] = [newNumber(), newHeader()]
      source.onCall = () => {
        throw error
      }
      expect((await verifyNin(nin, header)).statusCode).toBe(status)
      source.onCall = () => {}
      const second = await verifyNin(nin, header)
      expect([second.statusCode, isReplay(second)]).toEqual([200, false])
      const outcomes = (await subjectRows(nin)).filter(({ phase }) => phase === 'outcome')
      expect(outcomes).toHaveLength(2)
    })

    it('a claim that could not be released while the store failed', async () => {
      const { store, keyring, audit } = server.context
      let isFailing = true
      const table = {
        ...store.idempotency,
        release: async (...args: Parameters<typeof store.idempotency.release>) => {
          if (isFailing) throw new Error('store unavailable')
          await store.idempotency.release(...args)
        },
      }
      const idempotency = openIdempotency(
        { paidCalls: 2 },
        { idempotency: table, erasure: store.erasure },
        keyring(),
        audit,
        { deadBefore: () => undefined },
      )
      const use = {
        ...{ keyId: 'x', operation: 'verify_nin', reference: createReference(), header: newHeader() },
        ...{ request: ['1'], subject: '00' },
      }
      const begun = await idempotency.begin(use)
      if (!('claim' in begun)) throw new Error('the first one must get the claim')
      await expect(idempotency.release(begun.claim, new Error('failed'))).rejects.toThrow('store unavailable')
      isFailing = false
      expect(await idempotency.begin(use)).toHaveProperty('claim')
      await expect(idempotency.begin(use)).rejects.toMatchObject({ code: 'idempotency_in_progress' })
    })
  })

  describe('a claim whose owner crashed', () => {
    it('is kept until its lease ends, and taken over then', async () => {
      const [nin, header] = [newNumber(), newHeader()]
      const first = await verifyNin(nin, header)
      await run("UPDATE idempotency SET sealed = NULL, owner = 'gone'").run()
      const refused = await verifyNin(nin, header)
      expect(codeOf(refused)).toEqual([409, 'idempotency_in_progress'])
      expect(referenceOf(refused), 'its own, where the other is unknown').toMatch(/^ver_[0-9a-z]{36}$/)
      await run('UPDATE idempotency SET lease_until = 1').run()
      const answers = await Promise.all(Array.from({ length: 20 }, () => verifyNin(nin, header)))
      const winners = answers.filter((answer) => answer.statusCode === 200 && !isReplay(answer))
      expect(winners).toHaveLength(1)
      expect(referenceOf(winners[0] as Reply)).not.toBe(referenceOf(first))
      expect(source.calls).toEqual([nin, nin])
    })

    it('a slow owner gets 409 once another request has answered', async () => {
      const [nin, header] = [newNumber(), newHeader()]
      const letGo = source.hold()
      const slow = verifyNin(nin, header)
      await source.wasAsked(1)
      await run('UPDATE idempotency SET lease_until = 1').run()
      // Another process: it shares nothing with the first but the database.
      const other = createStandIn(true)
      const elsewhere = createApiServer({
        ...withStandIn(server.context, other),
        singleFlight: { share: shareNothing },
        local: openLocal(server.context.store, server.context.keyring(), server.context.audit),
      })
      const winner = await verifyNin(nin, header, { to: elsewhere })
      expect([winner.statusCode, isReplay(winner)]).toEqual([200, false])
      letGo()
      expect(codeOf(await slow)).toEqual([409, 'idempotency_in_progress'])
      expect((await verifyNin(nin, header)).body).toBe(winner.body)
    })
  })

  it('expires after 24 hours', async () => {
    const [nin, header] = [newNumber(), newHeader()]
    await run('DELETE FROM idempotency').run()
    const before = Date.now()
    const first = await verifyNin(nin, header)
    const [row] = await run('SELECT expires_at FROM idempotency').all()
    expect(Number(row?.expires_at)).toBeGreaterThanOrEqual(before + DAY_MS)
    expect(Number(row?.expires_at)).toBeLessThanOrEqual(Date.now() + DAY_MS)
    await run(`UPDATE idempotency SET expires_at = ${Date.now()}`).run()
    const second = await verifyNin(nin, header)
    expect([second.statusCode, isReplay(second)]).toEqual([200, false])
    expect(referenceOf(second)).not.toBe(referenceOf(first))
    await run('UPDATE idempotency SET expires_at = 1').run()
    await server.context.idempotency.deleteExpired()
    expect(await run('SELECT * FROM idempotency').all()).toEqual([])
  })

  it('stores responses encrypted: no number, phone, name or header is in the database', async () => {
    const [nin, header] = [newNumber(), `canary-header-${newHeader()}`]
    const { data } = (await verifyNin(nin, header)).json()
    const secrets = [nin, PHONE.slice(1), data.personal_info.first_name, data.personal_info.last_name, header]
    const kept = await run('SELECT * FROM idempotency').all()
    expect(kept.some(({ sealed }) => sealed !== null)).toBe(true)
    const bytes = [...kept.flatMap((row) => Object.values(row)), ...(engine === 'SQLite' ? readFiles() : [])]
      .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
      .join('\n')
    for (const secret of secrets) expect(bytes).not.toContain(secret)
  })

  describe('without it, identical requests at the same time', () => {
    // Single flight is for external sources: their calls may cost money.
    beforeEach(() => {
      source = createStandIn(true)
      app = createApiServer(withStandIn(server.context, source))
    })

    it('make one call; each caller has its own reference and rows', async () => {
      const nin = newNumber()
      const letGo = source.hold()
      const { singleFlight, wasJoined } = watchFlights(server.context.singleFlight, 10)
      const to = createApiServer({ ...withStandIn(server.context, source), singleFlight })
      const all = Array.from({ length: 10 }, () => verifyNin(nin, undefined, { to }))
      await wasJoined
      letGo()
      const answers = await Promise.all(all)
      expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(10).fill(200))
      expect(new Set(answers.map(referenceOf)).size).toBe(10)
      expect(source.calls).toEqual([nin])
      for (const answer of answers) {
        const rows = await server.context.store.audit.byReference(referenceOf(answer))
        expect(phasesOf(rows)).toEqual(['intent', 'outcome'])
        const outcome = rows.find(({ phase }) => phase === 'outcome')
        expect(outcome?.sources).toContain('stand-in')
      }
      expect((await verifyNin(nin)).statusCode).toBe(200)
      expect(source.calls).toEqual([nin, nin])
    })

    it('do not share with another phone, number or key', async () => {
      const nin = newNumber()
      const other = await server.createKey({ mode: 'live' })
      const letGo = source.hold()
      const all = [
        verifyNin(nin),
        verifyNin(nin, undefined, { phone: '08031234568' }),
        verifyNin(newNumber()),
        verifyNin(nin, undefined, { as: other }),
      ]
      await source.wasAsked(4)
      letGo()
      await Promise.all(all)
      expect(source.calls).toHaveLength(4)
    })

    it('fail together, and each is recorded', async () => {
      const nin = newNumber()
      source.onCall = () => {
        throw new SourceError('stand-in', 'timeout')
      }
      const all = [verifyNin(nin), verifyNin(nin)]
      expect((await Promise.all(all)).map(({ statusCode }) => statusCode)).toEqual([504, 504])
      const outcomes = (await subjectRows(nin)).filter(({ phase }) => phase === 'outcome')
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['source_timeout', 'source_timeout'])
    })
  })

  it('an external source is called only after the intent is in the database', async () => {
    const outside = createStandIn(true)
    const { config } = server.context
    const other = await openStore({ dataDir: config.dataDir, databaseUrl: config.databaseUrl })
    const seen: string[][] = []
    outside.onCall = async (_number, { reference }) => {
      seen.push(phasesOf(await other.audit.byReference(reference)))
    }
    const to = createApiServer(withStandIn(server.context, outside))
    const answers = [
      await verifyNin(newNumber(), undefined, { to }),
      await verifyNin(newNumber(), newHeader(), { to }),
      await verifyBvn(newNumber(), '1', newHeader(), { to }),
    ]
    for (const answer of answers)
      expect(phasesOf(await other.audit.byReference(referenceOf(answer)))).toEqual(['intent', 'outcome'])
    expect(seen).toEqual([['intent'], ['intent'], ['intent']])
    await other.close()
  })
})

/** Resolves when so many requests have joined. */
function watchFlights(singleFlight: SingleFlight, times: number) {
  const { promise, resolve } = Promise.withResolvers<void>()
  let joined = 0
  const share: SingleFlight['share'] = (...question) => {
    if (++joined === times) resolve()
    return singleFlight.share(...question)
  }
  return { singleFlight: { share }, wasJoined: promise }
}

const shareNothing: SingleFlight['share'] = async (_question, asks) => {
  const answer = await asks[0]?.query()
  if (!answer) throw new Error('no source')
  return answer
}

const readFiles = (): Buffer[] => {
  const { dataDir } = server.context.config
  return readdirSync(dataDir)
    .filter((name) => name.startsWith('tabbat.db'))
    .map((name) => readFileSync(join(dataDir, name)))
}
