import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { toBvnRecord } from '../../src/sources/sandbox/bvn-record.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const NIN = '12345678901'
const BVN = '64820193755'
const PHONE = `0${toPhoneCoreOf(NIN)}`

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

/** Nothing can be committed while another connection holds the write lock, so whatever is answered then is answered too early. */
describe.each(engines)('while %s cannot commit', (engine) => {
  let server: TestApp
  let vendor: StandIn
  let key: string
  let beforeAnswer: () => Promise<void>
  let release: (() => Promise<void>) | undefined
  /** The row of the answer was given to the store, and not the one of its start. */
  let handedOver: PromiseWithResolvers<void>

  const lock = async () => {
    const { dataDir, databaseUrl } = server.context.config
    if (databaseUrl === undefined) {
      const other = new DatabaseSync(join(dataDir, 'tabbat.db'), { timeout: 5000 })
      other.exec('BEGIN IMMEDIATE')
      release = async () => other.close()
    } else {
      const other = new Client({ connectionString: databaseUrl })
      await other.connect()
      await other.query('BEGIN; LOCK TABLE audit IN SHARE MODE')
      release = () => other.end()
    }
  }
  const ask = (operation: 'nin' | 'bvn', payload: object, headers = {}, as = key) =>
    server.app.inject({
      method: 'POST',
      url: `/api/v2/kyc/verify-${operation}`,
      headers: { ...bearer(as), ...headers },
      payload,
    })
  const askVendor = (phone = PHONE, headers = {}) => ask('nin', { nin: NIN, phone }, headers)
  const askRegistry = (phone = PHONE, headers = {}) => ask('bvn', { bvn: BVN, phone, amount: '1' }, headers)

  /** What the caller has got when the row waits for the lock and others have been answered, and what he gets in the end. */
  const answerTo = async (work: () => ReturnType<typeof ask>) => {
    let isAnswered = false
    const answer = work().finally(() => {
      isAnswered = true
    })
    await handedOver.promise
    for (let other = 0; other < 5; other++) {
      const unknown = `tbt_live_${String(other).repeat(8)}${'a'.repeat(43)}`
      expect((await askVendor(PHONE, bearer(unknown))).statusCode).toBe(401)
    }
    expect(isAnswered).toBe(false)
    await release?.()
    release = undefined
    return (await answer).statusCode
  }

  beforeAll(async () => {
    vendor = await openStandIn(dojah, 0, () => beforeAnswer())
    server = await openTestApp({
      TABBAT_NIN_SOURCES: 'dojah',
      ...vendor.settings,
      ...(engine === 'PostgreSQL' && { TABBAT_DATABASE_URL: await createTestDatabase() }),
    })
    key = await server.createKey({ mode: 'live' })
    const record = toBvnRecord(BVN, PHONE.slice(1))
    const records = [sealEntry(server.context.keyring(), 'bvn', BVN, { record, mediaId: null })]
    await server.context.store.registry.save({ records, media: [], at: Date.now() })
    const { audit } = server.context
    for (const name of ['record', 'recordWith', 'recordChange'] as const) {
      const original = audit[name].bind(audit) as (...given: unknown[]) => unknown
      Object.assign(audit, {
        [name]: (...given: unknown[]) => {
          if (release) handedOver.resolve()
          return original(...given)
        },
      })
    }
  })
  beforeEach(() => {
    vendor.fail(undefined)
    beforeAnswer = async () => {}
    handedOver = Promise.withResolvers()
    return async () => {
      await release?.()
      release = undefined
    }
  })
  afterAll(async () => {
    await server.close()
    await vendor.close()
  })

  it.each([
    ['verified', 200, PHONE, undefined],
    ['not verified', 422, '08099999999', undefined],
    ['an error', 503, PHONE, 'throttled'],
  ] as const)('no caller is told what a vendor answered: %s', async (_what, status, phone, fault) => {
    vendor.fail(fault)
    beforeAnswer = lock
    expect(await answerTo(() => askVendor(phone))).toBe(status)
  })

  it.each([
    ['verified', 200, PHONE],
    ['not verified', 422, '08099999999'],
  ])('no caller is told what the registry has: %s', async (_what, status, phone) => {
    await lock()
    expect(await answerTo(() => askRegistry(phone))).toBe(status)
  })

  it('no stored answer of the registry is given again', async () => {
    const header = { 'idempotency-key': 'one' }
    expect((await askRegistry(PHONE, header)).statusCode).toBe(200)
    await lock()
    expect(await answerTo(() => askRegistry(PHONE, header))).toBe(200)
  })

  // On SQLite these write something else first, which waits for the same lock.
  it.skipIf(engine === 'SQLite')('no stored answer of a vendor is given again', async () => {
    const header = { 'idempotency-key': 'one' }
    expect((await askVendor(PHONE, header)).statusCode).toBe(200)
    await lock()
    expect(await answerTo(() => askVendor(PHONE, header))).toBe(200)
  })

  it.skipIf(engine === 'SQLite')('no question is accepted that is answered later', async () => {
    await lock()
    expect(await answerTo(() => askVendor(PHONE, { prefer: 'respond-async' }))).toBe(202)
  })
})
