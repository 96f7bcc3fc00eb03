import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toLagosDate } from '../../src/contract/time.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { bearer } from '../app.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

const NIN = '12345678901'
const month = toLagosDate(Date.now()).slice(0, 7)
let vendor: StandIn
let at: TestConsole
let cookie: string

beforeAll(async () => {
  vendor = await openStandIn(dojah)
  at = await openTestConsole({ TABBAT_NIN_SOURCES: 'dojah', ...vendor.settings, TABBAT_DOJAH_PRICE: '50.25' })
  cookie = await at.openSession('viewer')
})
afterAll(async () => {
  await at.close()
  await vendor.close()
})

const verify = async (key: string, phone: string) =>
  (
    await at.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: bearer(key),
      payload: { nin: NIN, phone },
    })
  ).statusCode

describe('the usage of keys', () => {
  it('has verifications, paid calls and cost of each key and month, and is exported', async () => {
    const shop = await at.createKey({ mode: 'live', name: '=shop', owner: 'payments' })
    const other = await at.createKey({ mode: 'live', name: 'other' })
    const right = `0${toPhoneCoreOf(NIN)}`
    expect(await verify(shop, right)).toBe(200)
    expect(await verify(shop, '08099999999')).toBe(422)
    expect(await verify(other, right)).toBe(200)
    // The vendor does not bill a call that it throttles.
    vendor.fail('throttled')
    expect(await verify(other, right)).toBe(503)
    await expect
      .poll(async () =>
        (await at.context.store.sources.listKeySpend(month, month)).map(({ calls }) => calls).toSorted(),
      )
      .toEqual([1, 2])
    const answer = await at.request(`/admin/keys/usage?from=${month}&to=${month}`, { cookie })
    expect(answer.json().usage).toEqual([
      {
        ...{ month, key_id: shop.slice(9, 17), name: '=shop', mode: 'live', owner: 'payments' },
        ...{ verifications: 2, verified: 1, not_verified: 1, failed: 0, paid_calls: 2, cost_naira: 100.5 },
      },
      {
        ...{ month, key_id: other.slice(9, 17), name: 'other', mode: 'live', owner: '' },
        ...{ verifications: 2, verified: 1, not_verified: 0, failed: 1, paid_calls: 1, cost_naira: 50.25 },
      },
    ])
    const csv = await at.request(`/admin/keys/usage.csv?from=${month}&to=${month}`, { cookie })
    expect(csv.headers['content-disposition']).toContain(`usage-${month}-${month}.csv`)
    expect(csv.text.split('\r\n').slice(0, 2)).toEqual([
      'month,key_id,name,mode,owner,verifications,verified,not_verified,failed,paid_calls,cost_naira',
      `${month},${shop.slice(9, 17)},'=shop,live,payments,2,1,1,0,2,100.5`,
    ])
  })

  it('of one key is on its page, with its quota of today and its webhooks', async () => {
    const key = await at.createKey({ mode: 'live', name: 'till', subjectsPerDay: 7 })
    const id = key.slice(9, 17)
    vendor.fail('throttled')
    expect(await verify(key, '08099999998')).toBe(503)
    const report = (await at.request(`/admin/keys/${id}`, { cookie })).json()
    expect(report).toMatchObject({
      key: { id, name: 'till', state: 'active' },
      quota: { used: 1, limit: 7 },
      month: { key_id: id, failed: 1, paid_calls: 0, cost_naira: 0 },
      endpoints: [],
    })
    expect((await at.request('/admin/keys/nosuchid', { cookie })).status).toBe(404)
  })

  it('is empty for months without use, and needs valid months', async () => {
    const none = await at.request('/admin/keys/usage?from=2020-01&to=2020-12', { cookie })
    expect(none.json()).toEqual({ usage: [] })
    const bad = await at.request('/admin/keys/usage?from=2020-13&to=soon', { cookie })
    expect([bad.status, Object.keys(bad.json().errors as object)]).toEqual([422, ['from', 'to']])
  })
})
