import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { bearer } from '../app.ts'
import { readRows } from './audit-rows.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

const NIN = '70000000021'
const REASON = 'Complaint 4711 of the customer'
let at: TestConsole
let cookie: string
let key: string
beforeAll(async () => {
  at = await openTestConsole()
  cookie = await at.openSession('operator', 'bola')
  key = await at.createKey({ mode: 'live' })
  const { store, keyring } = at.context
  const entry = { record: toNinRecord(NIN, '9031234567'), mediaId: null }
  await store.registry.save({ records: [sealEntry(keyring(), 'nin', NIN, entry)], media: [], at: 1 })
})
afterAll(() => at.close())

const send = (index: number) =>
  at.app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-nin',
    headers: bearer(key),
    payload: { nin: NIN, phone: `080312345${String(index).padStart(2, '0')}` },
  })
const guess = async (index: number) => (await send(index)).statusCode
const unlock = (change: object = {}) =>
  at.request('/admin/attempts/unlock', {
    cookie,
    body: { kind: 'nin', number: NIN, reason: REASON, ...change },
  })

describe('unlocking a number', () => {
  it('lets it be verified again, with a reason in the audit log and no number', async () => {
    for (let index = 0; index < 5; index++) expect(await guess(index)).toBe(422)
    expect(await guess(5)).toBe(429)
    const answer = await unlock()
    expect([answer.status, answer.json()]).toEqual([200, { failed_matches: 5 }])
    expect(await guess(6)).toBe(422)
    const [row] = await readRows(at, 'number_unlocked')
    expect(row).toMatchObject({
      subject: at.context.toSubjectHash('nin', NIN),
      outcome: 'ok',
      detail: `nin; reason: ${REASON}; by bola`,
    })
    expect(JSON.stringify(row)).not.toContain(NIN)
  })

  it('needs only the reference of a verification of the number', async () => {
    for (let index = 10; index < 13; index++) expect(await guess(index)).toBe(422)
    const failed = await send(13)
    expect([failed.statusCode, await guess(14)]).toEqual([422, 429])
    const { request_reference: reference } = JSON.parse(failed.body).data
    const body = { reference, reason: REASON }
    const answer = await at.request('/admin/attempts/unlock', { cookie, body })
    expect([answer.status, answer.json()]).toEqual([200, { failed_matches: 5 }])
    expect(await guess(15)).toBe(422)
    expect((await readRows(at, 'number_unlocked')).at(-1)).toMatchObject({
      subject: at.context.toSubjectHash('nin', NIN),
      detail: `${reference}; reason: ${REASON}; by bola`,
    })
  })

  it('by a reference that no verification has is refused', async () => {
    for (const body of [{ reference: `ver_${'0'.repeat(36)}`, reason: REASON }, { reason: REASON }]) {
      const answer = await at.request('/admin/attempts/unlock', { cookie, body })
      const field = 'reference' in body ? 'reference' : 'number'
      expect([answer.status, Object.keys(answer.json().errors as object)]).toEqual([422, [field]])
    }
  })

  it('of a number that is not locked changes nothing', async () => {
    expect((await unlock({ number: '70000000022' })).json()).toEqual({ failed_matches: 0 })
  })

  it('needs a number and a reason without a number', async () => {
    for (const [change, field] of [
      [{ number: '1234567890x' }, 'number'],
      [{ reason: 'too short' }, 'reason'],
      [{ reason: `the customer ${NIN}` }, 'reason'],
    ] as const) {
      const { status, text, json } = await unlock(change)
      expect([status, Object.keys(json().errors as object)]).toEqual([422, [field]])
      expect(text).not.toMatch(/7000000002|1234567890/)
    }
  })
})
