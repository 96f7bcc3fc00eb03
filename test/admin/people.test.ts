import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PersonReport } from '../../src/contract/person-report.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { readRows } from './audit-rows.ts'
import { openRecordConsole, PASSWORD, REASON } from './record-console.ts'
import type { TestConsole } from './test-console.ts'

const NIN = '70000000017'
const RECORD = toNinRecord(NIN, '8031234567')

let at: TestConsole
let operator: string
let owner: string
beforeAll(async () => {
  ;({ at, operator, owner } = await openRecordConsole(NIN, RECORD))
})
afterAll(() => at.close())

const send = (what: string, change: object = {}, cookie = owner) =>
  at.request(`/admin/people/${what}`, {
    cookie,
    body: {
      kind: 'nin',
      number: NIN,
      reason: REASON,
      ...(what !== 'report' && { password: PASSWORD }),
      ...change,
    },
  })
const rows = () => readRows(at, 'person_reported', 'record_erased')

describe('a report', () => {
  it('tells an operator what is held, without values, and is audited with the reason', async () => {
    const answer = await send('report', {}, operator)
    const report = answer.json() as unknown as PersonReport
    expect(report).toMatchObject({ values: 'hidden', generated_by: 'bola', number: '*******0017' })
    expect(report.held.record?.fields).toContainEqual({ name: 'personal_info.first_name', value: '****' })
    for (const text of [NIN, RECORD.personal_info.last_name]) expect(answer.text).not.toContain(text)
    expect((await rows()).at(-1)).toMatchObject({
      phase: 'person_reported',
      subject: at.context.toSubjectHash('nin', NIN),
      detail: `nin, without values; reason: ${REASON}; by bola`,
    })
  })

  it('shows an owner the values after the password', async () => {
    const report = (await send('reveal')).json() as unknown as PersonReport
    expect(report.held.record?.fields).toContainEqual({ name: 'nin_number', value: NIN })
    expect((await rows()).at(-1)).toMatchObject({ detail: `nin, with values; reason: ${REASON}; by chidi` })
  })

  it.each([
    ['reveal', { password: 'another one altogether' }, 401],
    ['erase', { password: 'another one altogether' }, 401],
    ['report', { reason: `The customer with ${NIN}` }, 422],
    ['erase', { reason: 'too short' }, 422],
    ['report', { number: '123' }, 422],
    ['report', { kind: 'bvn', number: 'AB012345678910YZ' }, 422],
  ])('%s with %j: %i, and no audit row', async (what, change, status) => {
    const before = await rows()
    const answer = await send(what, change)
    expect(answer.status).toBe(status)
    expect(answer.text).not.toContain(NIN)
    expect(await rows()).toEqual(before)
  })

  it('is refused while the audit log cannot be written', async () => {
    const { audit } = at.context
    const record = audit.record.bind(audit)
    audit.record = async () => {
      throw new Error('the disk is full')
    }
    const answers = [await send('report', {}, operator), await send('reveal'), await send('erase')]
    audit.record = record
    for (const answer of answers) {
      expect(answer.status).toBe(500)
      expect(answer.text).not.toContain('held')
    }
    expect(((await send('report')).json() as unknown as PersonReport).held.record).not.toBeNull()
  })
})

describe('an erasure', () => {
  it('is forbidden for operators', async () => {
    expect((await send('erase', {}, operator)).status).toBe(403)
    expect((await send('reveal', {}, operator)).status).toBe(403)
  })

  it('lists what was erased and what remains, and is in the file', async () => {
    const answer = await send('erase')
    expect(answer.json()).toMatchObject({ records: 1, pictures: 0, kept_answers: 0, is_in_file: true })
    const remains = answer.json().remains as { what: string }[]
    expect(remains.map(({ what }) => what)).toContainEqual(
      expect.stringContaining('another number of the person'),
    )
    expect(remains.length).toBeGreaterThan(2)
    expect((await rows()).at(-1)).toMatchObject({
      phase: 'record_erased',
      outcome: 'erased',
      detail: `nin: 1 record; reason: ${REASON}; by chidi`,
    })
    expect(readFileSync(join(at.context.config.dataDir, 'erasures.log'), 'utf8')).toMatch(/^\{"id":"era_/)
    const after = (await send('report', {}, operator)).json() as unknown as PersonReport
    expect([after.held.record, after.erased_at.length]).toEqual([null, 1])
  })
})
