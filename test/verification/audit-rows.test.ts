import { createSecretKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { toCaller } from '../../src/keys/caller.ts'
import { mask, toReleasedFields } from '../../src/keys/field-policy.ts'
import { type OptionValues, withDefaults } from '../../src/keys/options.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { NIN } from '../../src/verification/id-type.ts'
import {
  createVerification,
  toAttempt,
  toAuditDetail,
  toIntent,
  toOtherSubject,
  toOutcome,
  toQueued,
  toStillVisible,
  toStoredResponse,
} from '../../src/verification/verification.ts'

const NUMBER = '41000000001'
const record = toNinRecord(NUMBER, '8031234567')
const deps = {
  sources: { live: { nin: ['live sources'] }, test: { nin: ['test sources'] } },
  subjectKey: createSecretKey(Buffer.alloc(32, 1)),
  pictureKey: () => createSecretKey(Buffer.alloc(32, 2)),
} as never
const toTestCaller = (options: Partial<OptionValues> = {}) =>
  toCaller({ ...withDefaults(options), id: 'new', lineage: 'first', mode: 'live', scopes: ['kyc:nin'] })

function create(request: object = {}, options: Partial<OptionValues> = {}) {
  const asked = {
    ...{ reference: 'ver_1', number: NUMBER, requestId: 'req_1', origin: 'https://verify.example' },
    caller: toTestCaller(options),
    ...request,
  }
  return createVerification(deps, NIN, asked as never, 'abcd', undefined)
}

const FIELDS = {
  ...{ request_reference: 'ver_1', key_id: 'new', mode: 'live', operation: 'verify_nin', subject: 'abcd' },
  ...{ amount: null, consent_reference: null, detail: null },
}

describe('the audit rows of a verification', () => {
  it('have its reference, key and person, and what the request said', () => {
    expect(create().auditFields).toEqual(FIELDS)
    const said = { amount: '100', consentReference: 'c-1', purpose: 'loan', account: 'ada@example.com' }
    expect(create(said).auditFields).toEqual({
      ...FIELDS,
      ...{ amount: '100', consent_reference: 'c-1', detail: 'purpose: loan; Try it; by ada@example.com' },
    })
    expect(create({ purpose: 'loan' }).auditFields.detail).toBe('purpose: loan')
    expect(create({ account: 'ada' }).auditFields.detail).toBe('Try it; by ada')
  })

  it('begin with the time of the request', () => {
    const verification = create()
    expect(verification).toMatchObject({ paid: { calls: 0 }, sources: ['live sources'], sourceAttempts: [] })
    const time = verification.startedAt
    expect(time).toMatch(/^20\d\d-.*Z$/)
    expect(toIntent(verification)).toEqual({ ...FIELDS, phase: 'intent', time })
    expect(toQueued(verification)).toEqual({ ...FIELDS, phase: 'queued', time })
  })

  it('end with the outcome, the sources and the fields that were released', () => {
    const verification = create()
    verification.sourceAttempts.push({ name: 'dojah', result: 'found', ms: 5 })
    const sources = '[{"name":"dojah","result":"found","ms":5}]'
    expect(toAttempt(verification, 'source_timeout')).toEqual({
      ...{ ...FIELDS, phase: 'attempt', outcome: 'source_timeout', sources },
    })
    const told = { first_name: 'exact' } as const
    const decision = {
      outcome: 'verified',
      record,
      match: { told, compared: { ...told, date_of_birth: 'no' } },
    } as const
    const response = toStoredResponse(verification, decision)
    expect(toOutcome(verification, decision, response, 'then')).toEqual({
      ...{ ...FIELDS, phase: 'outcome', outcome: 'verified', sources, started_at: 'then' },
      fields_released: response?.released,
      detail: 'match: first_name=exact, date_of_birth=no',
    })
    expect(toOutcome(verification, { outcome: 'not_verified' }, undefined, null)).toMatchObject({
      ...{ outcome: 'not_verified', fields_released: null, started_at: null, detail: null },
    })
  })

  it('have what was compared before the other details', () => {
    expect(toAuditDetail(undefined, undefined)).toBeNull()
    expect(toAuditDetail(undefined, 'purpose: loan')).toBe('purpose: loan')
    expect(toAuditDetail('first_name=no', null)).toBe('match: first_name=no')
    expect(toAuditDetail('first_name=no', 'purpose: loan')).toBe('match: first_name=no; purpose: loan')
  })
})

describe('the response of a verification', () => {
  it('is the record without the fields that are hidden from the key', () => {
    const verification = create({}, { hide: ['religion'] })
    const response = toStoredResponse(verification, { outcome: 'verified', record })
    expect(response).toMatchObject({ status: 200, outcome: 'verified', reference: 'ver_1' })
    expect(response).not.toHaveProperty('match')
    const { hidden } = toTestCaller({ hide: ['religion'] })
    expect(response?.released).toBe(toReleasedFields('nin', hidden))
    const { data } = JSON.parse(response?.body ?? '')
    expect(data.personal_info.religion).toBe(mask(record, hidden).personal_info.religion)
    expect(data.request_reference).toBe('ver_1')
  })

  it('tells how details compare, and only what the caller may know', () => {
    const match = { told: { first_name: 'exact' }, compared: { date_of_birth: 'no' } } as const
    const response = toStoredResponse(create(), { outcome: 'verified', record, match })
    expect(response?.match).toBe('first_name=exact')
  })

  it('is the same for an unknown number and another phone, and none for a failure', () => {
    const response = toStoredResponse(create(), { outcome: 'not_verified' })
    expect(response).toMatchObject({
      status: 422,
      outcome: 'not_verified',
      reference: 'ver_1',
      released: null,
    })
    expect(JSON.parse(response?.body ?? '')).toMatchObject({
      success: false,
      data: { request_reference: 'ver_1', verification_status: 'NOT_VERIFIED' },
    })
    const failure = { outcome: 'source_timeout', error: new Error('late') } as const
    expect(toStoredResponse(create(), failure)).toBeUndefined()
  })
})

describe('the number in an answer', () => {
  it('is another one only for a virtual NIN', () => {
    const verified = { outcome: 'verified', record } as const
    expect(toOtherSubject(create(), verified)).toBeUndefined()
    expect(toOtherSubject(create({ number: 'AB012345678910YZ' }), verified)).toHaveLength(32)
    expect(
      toOtherSubject(create({ number: 'AB012345678910YZ' }), { outcome: 'not_verified' }),
    ).toBeUndefined()
    expect(toOtherSubject(create(), undefined)).toBeUndefined()
  })
})

describe('a stored response', () => {
  const match = {
    told: { first_name: 'exact', last_name: 'partial', date_of_birth: 'no' },
    compared: {},
  } as const
  const stored = toStoredResponse(create(), { outcome: 'verified', record, match })
  if (!stored) throw new Error('no response')
  const read = (hide: readonly string[]) => toStillVisible(stored, 'nin', toTestCaller({ hide }))

  it('is given as it was to a key that sees the same, or more', () => {
    expect(read([])).toBe(stored)
    const hidden = toStoredResponse(create({}, { hide: ['religion'] }), { outcome: 'verified', record })
    if (hidden) expect(toStillVisible(hidden, 'nin', toTestCaller())).toBe(hidden)
  })

  it('hides what is hidden from the key since', () => {
    const since = read(['religion'])
    const [before, after] = [stored, since].map(({ body }) => JSON.parse(body).data)
    expect(after.personal_info.religion).not.toBe(before.personal_info.religion)
    expect({ ...after.personal_info, religion: '' }).toEqual({ ...before.personal_info, religion: '' })
    expect(since.released).toBe(toReleasedFields('nin', toTestCaller({ hide: ['religion'] }).hidden))
    expect(since).toMatchObject({ status: 200, reference: 'ver_1', match: stored.match })
  })

  it.each([
    ['personal_info.first_name', 'date_of_birth=no'],
    ['personal_info.middle_name', 'date_of_birth=no'],
    ['personal_info.date_of_birth', 'first_name=exact, last_name=partial'],
    ['personal_info', undefined],
  ])('no longer tells how details compare that would reveal %s', (field, expected) => {
    expect(read([field]).match).toBe(expected)
  })

  it('of a failure has nothing to hide', () => {
    const failed = toStoredResponse(create(), { outcome: 'not_verified' })
    if (failed) expect(toStillVisible(failed, 'nin', toTestCaller({ hide: ['personal_info'] }))).toBe(failed)
  })
})
