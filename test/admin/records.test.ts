import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { readRows } from './audit-rows.ts'
import { openRecordConsole, PASSWORD, REASON } from './record-console.ts'
import type { TestConsole } from './test-console.ts'

const NIN = '70000000017'
const UNKNOWN_NIN = '70000000018'
const PERSON = toNinRecord(NIN, '8031234567')
const RECORD = { ...PERSON, personal_info: { ...PERSON.personal_info, middle_name: '' } }

let at: TestConsole
let operator: string
let owner: string
beforeAll(async () => {
  ;({ at, operator, owner } = await openRecordConsole(NIN, RECORD))
})
afterAll(() => at.close())

type View = { found: boolean; fields: { name: string; value: string }[] }
const lookUp = (number = NIN) =>
  at.request('/admin/records/lookup', { cookie: operator, body: { kind: 'nin', number } })
const reveal = (change: object = {}, cookie = owner) =>
  at.request('/admin/records/reveal', {
    cookie,
    body: { kind: 'nin', number: NIN, reason: REASON, password: PASSWORD, ...change },
  })
const rows = () => readRows(at, 'record_viewed', 'record_revealed')

describe('the records', () => {
  it('are counted', async () => {
    const viewer = await at.openSession('viewer')
    expect((await at.request('/admin/records', { cookie: viewer })).json()).toEqual({
      nin: 1,
      bvn: 0,
      pictures: 0,
    })
  })
})

describe('looking up a record', () => {
  it('shows which fields are filled, without their values', async () => {
    const answer = await lookUp()
    const { found, fields } = answer.json() as unknown as View
    expect(found).toBe(true)
    expect(fields).toContainEqual({ name: 'personal_info.first_name', value: '****' })
    expect(new Set(fields.map(({ value }) => value))).toEqual(new Set(['****', '']))
    expect(fields.map(({ name }) => name)).not.toContain('personal_info.image_url')
    for (const text of [NIN, RECORD.personal_info.last_name, RECORD.personal_info.date_of_birth])
      expect(answer.text).not.toContain(text)
  })

  it('is audited, also if there is no record', async () => {
    expect((await lookUp(UNKNOWN_NIN)).json()).toEqual({ found: false, fields: [] })
    expect((await rows()).at(-1)).toMatchObject({
      phase: 'record_viewed',
      subject: at.context.toSubjectHash('nin', UNKNOWN_NIN),
      outcome: 'not_found',
      detail: 'nin; by bola',
    })
  })
})

describe('revealing a record', () => {
  it('needs an owner, the password and a reason, which is audited', async () => {
    const before = await rows()
    for (const [change, cookie, status, code] of [
      [{}, operator, 403, 'wrong_role'],
      [{ password: undefined }, owner, 422, 'validation_failed'],
      [{ password: 'another one altogether' }, owner, 401, 'wrong_password'],
      [{ reason: undefined }, owner, 422, 'validation_failed'],
      [{ reason: `The customer with ${NIN}` }, owner, 422, 'validation_failed'],
    ] as const) {
      const answer = await reveal(change, cookie)
      expect([answer.status, answer.json().code]).toEqual([status, code])
    }
    expect(await rows()).toEqual(before)
    const { fields } = (await reveal()).json() as unknown as View
    expect(fields).toContainEqual({ name: 'nin_number', value: NIN })
    expect(fields).toContainEqual({ name: 'personal_info.last_name', value: RECORD.personal_info.last_name })
    expect(fields.map(({ name }) => name)).not.toContain('personal_info.image_url')
    expect((await rows()).at(-1)).toMatchObject({
      phase: 'record_revealed',
      subject: at.context.toSubjectHash('nin', NIN),
      outcome: 'found',
      detail: `nin; reason: ${REASON}; by chidi`,
    })
  })

  it.each([
    'too short',
    `The customer with ${NIN}`,
    'Called from 0803 123 4567 today',
    'Called from (0803)-123.4567 today',
    'Called from 0803,123,4567 today',
    'Called from 0803–123–4567 today',
    'The customer with the NIN ٧٠٠٠٠٠٠٠٠١٧',
    'Called from 0x8x0x3x1x2x3x4x5x6x7 today',
    'Called from ０８０３\u200b123\u200b4567 today',
  ])('is refused for a reason that is too short or contains a number: %s', async (reason) => {
    const before = await rows()
    const answer = await reveal({ reason })
    expect(answer.status).toBe(422)
    expect(Object.keys(answer.json().errors as object)).toEqual(['reason'])
    expect(await rows()).toEqual(before)
  })

  it('is refused while the audit log cannot be written', async () => {
    const { audit } = at.context
    const record = audit.record.bind(audit)
    audit.record = async () => {
      throw new Error('the disk is full')
    }
    const answers = [await lookUp(), await reveal()]
    audit.record = record
    for (const answer of answers) {
      expect(answer.status).toBe(500)
      expect(answer.text).not.toContain('fields')
    }
  })
})
