import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Tabbat } from '../../packages/client/src/index.ts'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { SANDBOX_NUMBERS } from '../../src/sources/sandbox/numbers.ts'
import { PHONE } from '../app.ts'
import { type ClientServer, ENGINES, errorOf, openClientServer } from './open-server.ts'

const AMOUNT = '50'
let server: ClientServer
let tabbat: Tabbat

beforeAll(async () => {
  server = await openClientServer()
  tabbat = server.connect({ maxRetries: 0 })
})
afterAll(() => server.close())

describe('a verification with a test key', () => {
  it('is verified, with the person', async () => {
    const result = await tabbat.verifyNin({ nin: '12345678901', phone: PHONE })
    expect(result).toMatchObject({
      verified: true,
      person: { nin_number: '12345678901', service_type: 'NIN' },
    })
    expect(result.pending).toBeUndefined()
    expect(result.verified && result.person.request_reference).toBe(result.reference)
    expect(await tabbat.verifyBvn({ bvn: '12345678901', phone: PHONE, amount: AMOUNT })).toMatchObject({
      verified: true,
      person: { bvn_number: '12345678901', service_type: 'BVN' },
    })
  })

  it('says how names and the date of birth compare, where they are given', async () => {
    const request = { nin: '12345678901', phone: PHONE }
    const plain = await tabbat.verifyNin(request)
    expect(Object.keys(plain)).not.toContain('match')
    if (!plain.verified) throw new Error('not verified')
    const { first_name, last_name } = plain.person.personal_info
    const details = { first_name, last_name: `${last_name} Nemo`, date_of_birth: '1901-01-01' }
    expect(await tabbat.verifyNin({ ...request, ...details })).toMatchObject({
      verified: true,
      match: { first_name: 'exact', last_name: 'partial', date_of_birth: 'no' },
    })
    const later = await tabbat.verifyNin({ ...request, first_name }, { respondAsync: 10 })
    expect(later).toMatchObject({ verified: true, match: { first_name: 'exact' } })
    expect(await tabbat.pending.get(later.reference)).toEqual(later)
  })

  const numbers = SANDBOX_NUMBERS.filter(({ use }) => use !== 'phone')
  const verify = (use: string, number: string) =>
    use === 'nin'
      ? tabbat.verifyNin({ nin: number, phone: PHONE })
      : tabbat.verifyBvn({ bvn: number, phone: PHONE, amount: AMOUNT })
  const scenarios = numbers.flatMap(({ use, number, status }) =>
    use.split(', ').map((each) => [each.toLowerCase(), number, status] as const),
  )

  it.each(scenarios.filter(([, , status]) => status === 200))('%s %s is verified', async (use, number) => {
    expect(await verify(use, number)).toMatchObject({ verified: true })
  })

  it.each(scenarios.filter(([, , status]) => status === 422))(
    '%s %s is not verified',
    async (use, number) => {
      const { reference, ...result } = await verify(use, number)
      expect(reference).toMatch(/^ver_[0-9a-z]{36}$/)
      expect(result).toEqual({ verified: false })
    },
  )

  it.each(scenarios.filter(([, , status]) => status === 202))('%s %s is pending', async (use, number) => {
    const { reference, ...result } = await verify(use, number)
    expect(reference).toMatch(/^ver_[0-9a-z]{36}$/)
    expect(result).toEqual({ pending: true })
  })

  it.each(scenarios.filter(([, , status]) => ![200, 202, 422].includes(status)))(
    '%s %s is an error with the status %i',
    async (use, number, status) => {
      const error = await errorOf(verify(use, number))
      expect(error).toMatchObject({ name: 'TabbatError', status, retryable: true })
      expect(error.code).toMatch(/^(rate_limited|source_(bad_response|unavailable|timeout))$/)
      expect(error.requestId).toMatch(/^req_[0-9a-f]+$/)
      expect(error.retryAfterMs).toBeGreaterThan(0)
    },
  )

  it('is not verified with the phone that matches no record', async () => {
    expect(await tabbat.verifyNin({ nin: '12345678901', phone: '08000000000' })).toMatchObject({
      verified: false,
    })
  })

  it('names every bad field, without its value', async () => {
    const error = await errorOf(tabbat.verifyNin({ nin: '1234567890', phone: '0803' }))
    expect(error).toMatchObject({ code: 'validation_failed', status: 422, retryable: false })
    expect(Object.keys(error.fields ?? {})).toEqual(['nin', 'phone'])
    expect(error.fields?.nin?.[0]).toContain('11 digits')
  })

  it('says that the key is wrong', async () => {
    const error = await errorOf(server.connect({ key: 'tbt_test_wrong' }).listSmeBundles())
    expect(error).toMatchObject({ code: 'unauthenticated', status: 401, retryable: false })
  })

  it('passes the consent reference on, and refuses one with a number', async () => {
    const request = { nin: '12345678902', phone: PHONE }
    expect(await tabbat.verifyNin(request, { consentReference: 'consent-4711' })).toMatchObject({
      verified: true,
    })
    expect(server.proxy.requests.at(-1)?.['x-consent-reference']).toBe('consent-4711')
    const error = await errorOf(tabbat.verifyNin(request, { consentReference: '12345678902' }))
    expect(error.status).toBe(422)
  })
})

describe.each(ENGINES)('a verification with a live key on %s', (engine) => {
  it('finds a person of the registry', async () => {
    const live = await openClientServer({}, engine)
    const { store, keyring } = live.context
    const record = toNinRecord('40000000001', PHONE.slice(1))
    const own = { ...record, personal_info: { ...record.personal_info, image_url: '' } }
    await store.registry.save({
      at: Date.now(),
      media: [],
      records: [sealEntry(keyring(), 'nin', '40000000001', { record: own, mediaId: null })],
    })
    const client = live.connect({ key: await live.createKey({ mode: 'live' }) })
    expect(await client.verifyNin({ nin: '40000000001', phone: PHONE })).toMatchObject({ verified: true })
    expect(await client.verifyNin({ nin: '40000000002', phone: PHONE })).toMatchObject({ verified: false })
    await live.close()
  })

  it('pays a vendor once when responses are lost', async () => {
    const vendor = await openStandIn(dojah)
    const live = await openClientServer({ TABBAT_NIN_SOURCES: 'dojah', ...vendor.settings }, engine)
    const client = live.connect({ key: await live.createKey({ mode: 'live' }) })
    live.proxy.fail('lose', 'truncate')
    const phone = `0${toPhoneCoreOf('12345678901')}`
    const result = await client.verifyNin({ nin: '12345678901', phone })
    expect(result).toMatchObject({ verified: true, person: { nin_number: '12345678901' } })
    expect(vendor.count()).toBe(1)
    const keys = live.proxy.requests.map((headers) => headers['idempotency-key'])
    expect([keys.length, new Set(keys).size]).toEqual([3, 1])
    await live.close()
    await vendor.close()
  })
})

describe('look-ups', () => {
  it('list the catalogue', async () => {
    expect((await tabbat.listSmeBundles())[0]).toEqual({
      description: 'SME DATA 50MB',
      code: 'sme_data_50mb',
    })
    const bundles = await tabbat.listInternetBundles('smile')
    expect(bundles.length).toBeGreaterThan(0)
    expect(bundles[0]?.price).toBe(bundles[0]?.amount)
    const addOns = await tabbat.listTvAddOns({ type: 'DSTV', productCode: 'COMPE36' })
    expect(new Set(addOns.map(({ product_code }) => product_code))).toEqual(new Set(['COMPE36']))
  })

  it('say what is not in the catalogue', async () => {
    expect(await errorOf(tabbat.listInternetBundles('../no such'))).toMatchObject({ status: 404 })
    const error = await errorOf(tabbat.listTvAddOns({ type: 'DSTV', productCode: 'NONE1' }))
    expect(error).toMatchObject({ code: 'product_not_found', status: 404, retryable: false })
  })
})
