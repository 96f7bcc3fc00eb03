import { afterEach, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { toBvnPerson, toNinPerson, toPhoneCoreOf } from '../../src/simulator/people.ts'
import { qoreid } from '../../src/simulator/qoreid.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { bearer, openTestApp } from '../app.ts'

/** QoreID compares names itself, and gives no record if they differ. */
const NIN = '12345678901'
const BVN = '22345678901'
const WRONG = { first_name: 'Wrong', last_name: 'Person' }

const open: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

async function openServer(order: string, more: Record<string, string> = {}) {
  const [first, second] = [await openStandIn(qoreid), await openStandIn(dojah)]
  const server = await openTestApp({
    ...first.settings,
    ...second.settings,
    TABBAT_QOREID_NAMES_OPTIONAL: 'off',
    TABBAT_NIN_SOURCES: order,
    TABBAT_BVN_SOURCES: order,
    ...more,
  })
  open.push(first, second, server)
  const key = await server.createKey({ mode: 'live' })
  const send = (path: string, payload: object) =>
    server.app.inject({ method: 'POST', url: `/api/v2/kyc/${path}`, headers: bearer(key), payload })
  return {
    first,
    server,
    verifyNin: (details: object, nin = NIN, phone = `0${toPhoneCoreOf(nin)}`) =>
      send('verify-nin', { nin, phone, ...details }),
    verifyBvn: (details: object) =>
      send('verify-bvn', { bvn: BVN, phone: `0${toPhoneCoreOf(BVN)}`, amount: '1', ...details }),
    attempts: async () => {
      const rows = await server.context.store.database
        .prepare("SELECT sources FROM audit WHERE phase = 'outcome'")
        .all()
      return rows.flatMap(({ sources }) =>
        (JSON.parse(sources as string) as { name: string; result: string }[]).map(
          ({ name, result }) => `${name} ${result}`,
        ),
      )
    },
  }
}

describe('names that differ', () => {
  it('are no answer about the phone: alone 502, never "not verified"', async () => {
    const { verifyNin, verifyBvn, attempts } = await openServer('qoreid')
    for (const answer of [await verifyNin(WRONG), await verifyBvn(WRONG)])
      expect([answer.statusCode, answer.json().code]).toEqual([502, 'source_bad_response'])
    expect(await attempts()).toEqual(['qoreid names_differ', 'qoreid names_differ'])
  })

  it.each([{}, { TABBAT_NOT_FOUND: 'next' }])('lead to the next source, with %j', async (more) => {
    const { verifyNin, attempts } = await openServer('qoreid,dojah', more)
    const answer = await verifyNin(WRONG)
    expect([answer.statusCode, answer.headers['tabbat-match']]).toEqual([200, 'first_name=no, last_name=no'])
    const other = await verifyNin(WRONG, NIN, '08021112223')
    expect(other.statusCode).toBe('TABBAT_NOT_FOUND' in more ? 502 : 422)
    expect((await attempts()).slice(0, 2)).toEqual(['qoreid names_differ', 'dojah found'])
  })

  it('do not count against the source, however many people mistype them', async () => {
    const { verifyNin, first, server } = await openServer('qoreid')
    for (let index = 0; index < 30; index++)
      expect((await verifyNin(WRONG, String(12_000_000_000 + index))).statusCode).toBe(502)
    const { first_name, last_name } = toNinPerson(NIN).personal_info
    expect((await verifyNin({ first_name, last_name })).statusCode).toBe(200)
    // One token, and every look-up.
    expect(first.count()).toBe(32)
    const ready = await server.app.inject({ method: 'GET', url: '/health/ready' })
    expect(ready.json().sources.qoreid).toBe('ok')
  })

  it('count as failed guesses at one number', async () => {
    const { verifyNin } = await openServer('qoreid')
    const codes: string[] = []
    for (let guess = 0; guess < 20 && codes.at(-1) !== 'too_many_attempts'; guess++)
      codes.push((await verifyNin(WRONG)).json().code)
    expect(new Set(codes)).toEqual(new Set(['source_bad_response', 'too_many_attempts']))
  })
})

describe('names that are required', () => {
  it('are both for a NIN, and the first for a BVN', async () => {
    const { verifyNin, verifyBvn } = await openServer('qoreid')
    const { first_name } = toBvnPerson(BVN).personal_info
    expect((await verifyBvn({ first_name })).statusCode).toBe(200)
    expect((await verifyBvn({})).json().errors).toEqual({ first_name: [expect.any(String)] })
    expect((await verifyNin({ first_name })).json().errors).toEqual({ last_name: [expect.any(String)] })
  })

  it('are both for another BVN product', async () => {
    const { verifyBvn } = await openServer('qoreid', {
      TABBAT_QOREID_BVN_PATH: '/v1/ng/identities/bvn-basic/{number}',
    })
    const { first_name } = toBvnPerson(BVN).personal_info
    expect((await verifyBvn({ first_name })).json().errors).toEqual({ last_name: [expect.any(String)] })
  })
})

it('reads an answer whose summary is a text, of the product without names', async () => {
  const { verifyNin, first } = await openServer('qoreid', { TABBAT_QOREID_NAMES_OPTIONAL: 'on' })
  first.alter((body) => ({ ...(body as object), summary: { nin_check: 'verified' } }))
  expect((await verifyNin({})).statusCode).toBe(200)
})
