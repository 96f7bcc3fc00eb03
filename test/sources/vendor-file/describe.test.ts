import { describe, expect, it } from 'vitest'
import type { AnswerMap } from '../../../src/sources/vendor-file/answer-map.ts'
import {
  describePart,
  describeSource,
  listParts,
  listPlaces,
} from '../../../src/sources/vendor-file/describe.ts'
import { listFieldPaths, listFieldsIn, listMemberNames } from '../../../src/sources/vendor-file/places.ts'
import { toSampleReply } from '../../../src/sources/vendor-file/sample-reply.ts'
import type { Condition, VendorFile, VendorRule } from '../../../src/sources/vendor-file/schema.ts'

const toRule = (condition: Condition, then: VendorRule['then'], status_at?: string) =>
  ({ name: then, if: condition, then, status_at }) as VendorRule
const ANSWER = {
  rules: 'all',
  record: ['data', 'other'],
  number: { at: ['id', 'nin'] },
  virtual_nin: { at: ['vnin'] },
  phones: ['tel', 'mobile'],
  reference: '$.ref',
  price: 'cost',
  fields: {
    $comment: 'A remark.',
    document_no: 'doc',
    personal_info: {
      first_name: ['first', '$.top.first'],
      last_name: { join: ['a', 'b'] },
      gender: { asked: 'first_name' },
    },
  },
} as unknown as AnswerMap
const FILE = {
  answers: { nin: ANSWER },
  rules: {
    all: [
      toRule({ status: [404, 400], text: { at: 'why.text', says: ['own', 'no_such_person'] } }, 'not_found'),
      toRule({ values: [{ at: 'ok', is_not: [true] }], absent: ['gone'] }, 'failure'),
      toRule({ values: [{ at: 'state', is: ['bad'] }], any_present: ['x.y', 'z'] }, 'by_status', 'code'),
      toRule({ values: [{ at: 'ok', is: [true] }], present: ['data.id', 'extra.part'] }, 'found'),
      toRule({ text: { says: ['funds'] } }, 'no_funds'),
    ],
  },
  texts: { own: ['Our own words'] },
} as unknown as VendorFile
const PERSON = { number: '12345678901', phoneCore: '8031234567' }

describe('a condition in words', () => {
  it.each<[Condition, string]>([
    [{ status: [200] }, 'the HTTP status is 200'],
    [{ status: [200, 404, 500] }, 'the HTTP status is 200, 404 or 500'],
    [{ values: [{ at: 'a.b', is: ['01', 1, true] }] }, 'a.b is "01", 1 or true'],
    [{ values: [{ at: 'a', is_not: ['x', 'y'] }] }, 'a is there, and not "x" or "y"'],
    [{ present: ['a'] }, 'a is there'],
    [{ absent: ['a'] }, 'a is not there'],
    [{ any_present: ['a', 'b'] }, 'one of a, b has a content'],
    [{ names_sent: true }, 'the request had names'],
    [{ names_sent: false }, 'the request had no names'],
    [{ text: { says: ['own'] } }, 'the error text is in the list own'],
    [
      { text: { at: 'why', says: ['a', 'b'], unless: ['c', 'd'] } },
      'why is in the list a or b, and in none of c, d',
    ],
    [{}, 'always'],
  ])('%j', (condition, text) => expect(describePart(condition)).toBe(text))

  it('has parts, each of which must hold', () => {
    const text = { says: ['own'] }
    const values = [
      { at: 'a', is: [1] },
      { at: 'b', is: [2] },
    ]
    const whole = {
      status: [200],
      values,
      present: ['c', 'd'],
      absent: ['e'],
      any_present: ['f', 'g'],
      names_sent: false,
      text,
    }
    expect(listParts(whole)).toEqual([
      { status: [200] },
      { values: [values[0]] },
      { values: [values[1]] },
      { present: ['c'] },
      { present: ['d'] },
      { absent: ['e'] },
      { any_present: ['f', 'g'] },
      { names_sent: false },
      { text },
    ])
    expect(listParts({})).toEqual([])
  })
})

describe('the places of an answer', () => {
  it('are those of the file, in its order', () => {
    const places = listPlaces('nin', ANSWER)
    expect(places.map(({ field, source }) => `${field}: ${describeSource(source)}`)).toEqual([
      'nin_number: id, else nin',
      'virtual NIN: vnin',
      'personal_info.phone_number: tel and mobile',
      'reference: $.ref',
      'price: cost',
      'document_no: doc',
      'personal_info.first_name: first, else $.top.first',
      'personal_info.last_name: a and b',
      'personal_info.gender: the first_name of the request',
    ])
    const bvn = { rules: 'all', record: ['$'], number: { at: ['bvn'] }, phones: ['p'], second_phones: ['q'] }
    expect(listPlaces('bvn', bvn as AnswerMap).map(({ field }) => field)).toEqual([
      'bvn_number',
      'personal_info.phone_number',
      'personal_info.phone_number_2',
    ])
    expect(listPlaces('nin', { rules: 'all', record: ['$'], phones: ['p'] } as AnswerMap)).toHaveLength(1)
  })

  it('have paths, unless they are of the request', () => {
    expect(listFieldPaths(FILE, 'nin').map(({ field, paths }) => `${field}: ${paths}`)).toEqual([
      'nin_number: id,nin',
      'personal_info.phone_number: tel,mobile',
      'reference: $.ref',
      'price: cost',
      'document_no: doc',
      'personal_info.first_name: first,$.top.first',
      'personal_info.last_name: a,b',
    ])
    // The answer to a NIN describes that to a virtual NIN.
    expect(listFieldPaths(FILE, 'virtual_nin').map(({ field }) => field)).toContain('virtual NIN')
    expect(listFieldPaths(FILE, 'bvn')).toEqual([])
  })

  it('have the names of our fields where the file says so', () => {
    const answers = {
      nin: { ...ANSWER, same_fields: true },
      bvn: { ...ANSWER, same_fields: true, fields: {} },
    }
    const list = (operation: 'nin' | 'bvn') =>
      listFieldPaths({ ...FILE, answers } as VendorFile, operation).map(
        ({ field, paths }) => `${field}: ${paths}`,
      )
    expect(list('nin')).toContain('personal_info.middle_name: personal_info.middle_name')
    expect(list('nin').filter((text) => text.startsWith('personal_info.first_name'))).toHaveLength(1)
    expect(list('nin').join()).not.toMatch(/image_url|phone_number:personal/)
    expect(list('bvn')).toContain('nin: nin')
    expect(list('nin')).not.toContain('nin: nin')
  })

  it('are filled, or not, in an answer', () => {
    const body = { ref: 'r', top: { first: 'Ada' }, data: { nin: '123', tel: '', doc: null, a: 'Obi' } }
    expect(listFieldsIn(FILE, 'nin', body)).toEqual([
      'nin_number',
      'reference',
      'personal_info.first_name',
      'personal_info.last_name',
    ])
    expect(listFieldsIn(FILE, 'nin', { other: { doc: 'x' } })).toEqual(['document_no'])
    const whole = { ...FILE, answers: { nin: { ...ANSWER, record: ['$'] } } } as VendorFile
    expect(listFieldsIn(whole, 'nin', { doc: 'x' })).toEqual(['document_no'])
  })

  it('have names of members, which are kept in the shape of an answer', () => {
    const names = new Set(listMemberNames(FILE))
    for (const name of [
      'why',
      'text',
      'ok',
      'gone',
      'state',
      'x',
      'y',
      'z',
      'code',
      'data',
      'other',
      'extra',
      'part',
    ])
      expect(names, name).toContain(name)
    for (const name of ['id', 'nin', 'vnin', 'tel', 'mobile', 'ref', 'cost', 'doc', 'first', 'top', 'a', 'b'])
      expect(names, name).toContain(name)
  })
})

describe('a sample of a reply', () => {
  const sample = (then: VendorRule['then'], file = FILE, operation: 'nin' | 'virtual_nin' | 'bvn' = 'nin') =>
    toSampleReply(file, operation, then, PERSON)

  it('is what the rule says', () => {
    expect(sample('not_found')).toEqual({ status: 404, body: { why: { text: 'Our own words' } } })
    expect(sample('failure')).toEqual({ status: 200, body: { ok: false } })
    expect(sample('by_status')).toEqual({ status: 200, body: { state: 'bad', x: { y: 'SAMPLE' } } })
    expect(sample('no_funds')).toEqual({ status: 200, body: { message: 'Insufficient balance' } })
    expect(sample('no_funds', { ...FILE, error_text: 'err.or' } as VendorFile)).toEqual({
      ...{ status: 200, body: { err: { or: 'Insufficient balance' } } },
    })
    expect(sample('refused')).toBeUndefined()
    expect(sample('found', FILE, 'bvn')).toBeUndefined()
  })

  it.each([
    ['no_such_person', 'Record not found'],
    ['phone_differs', 'Phone does not match'],
    ['temporary', 'Try again later'],
    ['format', 'The format is invalid'],
    ['{pattern}', 'Phone number does not match'],
  ])('has a text of the list %s', (list, message) => {
    const rules = { all: [toRule({ text: { says: [list] } }, 'failure')] }
    expect(sample('failure', { ...FILE, rules } as VendorFile)).toEqual({ status: 200, body: { message } })
  })

  it('with another value than one has some other', () => {
    const rules = { all: [toRule({ values: [{ at: 'code', is_not: ['00'] }] }, 'failure')] }
    expect(sample('failure', { ...FILE, rules } as VendorFile)?.body).toEqual({ code: 'other' })
  })

  it('of a record has a synthetic person at the places of the file', () => {
    const { status, body } = sample('found') as { status: number; body: Record<string, never> }
    expect(status).toBe(200)
    expect(body).toMatchObject({
      ...{ ok: true, ref: 'sample-1', extra: { part: 'SAMPLE' } },
      data: { id: '12345678901', tel: '08031234567', first: expect.any(String), a: expect.any(String) },
    })
    expect(body.data).not.toHaveProperty('vnin')
    expect(body.data).not.toHaveProperty('nin')
    expect(sample('found', FILE, 'virtual_nin')?.body).toMatchObject({ data: { vnin: '12345678901' } })
  })

  it('of a record at the top, or with our own names', () => {
    const of = (change: object) =>
      sample('found', { ...FILE, answers: { nin: { ...ANSWER, ...change } } } as VendorFile)?.body
    expect(of({ record: ['$'] })).toMatchObject({ id: '12345678901', tel: '08031234567' })
    expect(of({ same_fields: true, fields: undefined })).toMatchObject({
      ...{ data: { personal_info: { first_name: expect.any(String) } } },
    })
    const asked = of({ phones: [{ asked: 'phone' }] }) as { data: object }
    expect(asked.data).not.toHaveProperty('tel')
  })
})
