import { describe, expect, it } from 'vitest'
import { compileAnswer, isSource } from '../../../src/sources/vendor-file/answer.ts'
import type { AnswerMap } from '../../../src/sources/vendor-file/answer-map.ts'
import type { OperationName } from '../../../src/sources/vendor-file/schema.ts'
import { NO_QUESTION } from '../../../src/sources/vendor-file/template.ts'

const MAP: AnswerMap = { rules: 'all', record: ['data'], number: { at: ['id'] }, phones: ['tel'] }
const QUESTION = {
  ...NO_QUESTION,
  number: '12345678901',
  phone: '8031234567',
  details: { first_name: 'Asked', last_name: 'Obi', date_of_birth: '1990-01-05' },
}
const read = (
  map: Partial<AnswerMap>,
  body: unknown,
  operation: OperationName = 'nin',
  question = QUESTION,
) => compileAnswer('acme', operation, { ...MAP, ...map })(body, question)
/** The values of a record that are not empty. */
const filled = (map: Partial<AnswerMap>, data: object, operation: OperationName = 'nin') => {
  const { personal_info, ...rest } = read(map, { data, top: 'T' }, operation).record as unknown as Record<
    string,
    object
  >
  const given = Object.entries(personal_info ?? {}).filter(([, value]) => value !== '' && value !== null)
  return { ...Object.fromEntries(given), rest }
}

describe('the record', () => {
  it('is the first of its places that is there', () => {
    const map = { record: ['a.b', 'c', '$'] }
    expect(read(map, { a: { b: { id: 1 } }, c: { id: 2 } }).record).toMatchObject({
      nin_number: '00000000001',
    })
    expect(read(map, { a: { b: null }, c: { id: 2 } }).record).toMatchObject({ nin_number: '00000000002' })
    expect(read(map, { id: 3 }).record).toMatchObject({ nin_number: '00000000003' })
  })

  it.each([{}, { data: null }, { data: 'text' }, { data: [] }, { data: [{}] }, null, 7])(
    'that is none is an answer of an unknown shape: %j',
    (body) => {
      expect(() => read({}, body)).toThrow(
        expect.objectContaining({ source: 'acme', reason: 'bad_response', problem: 'unknown_shape' }),
      )
    },
  )

  it('is that of a NIN or of a BVN', () => {
    const body = { data: { id: '12345678901', nin: '2345678901' } }
    expect(read({}, body).record).toMatchObject({ nin_number: '12345678901' })
    const bvn = read({ fields: { nin: 'nin' } }, body, 'bvn').record
    expect(bvn).toMatchObject({ bvn_number: '12345678901', nin: '02345678901' })
    expect(bvn).not.toHaveProperty('nin_number')
  })
})

describe('the number', () => {
  it('is the first that is there, and never made up', () => {
    const map = { number: { at: ['a', '$.top.b'] } }
    expect(read(map, { data: { a: null }, top: { b: 123 } }).record).toMatchObject({
      nin_number: '00000000123',
    })
    expect(read(map, { data: {} }).record).toMatchObject({ nin_number: '' })
    expect(read(map, { data: { a: '' } }).record).toMatchObject({ nin_number: '' })
  })

  it('may be missing where the file says so', () => {
    const map = { number: { at: ['id'], may_be_missing: true } }
    expect(read(map, { data: {} }).record).toMatchObject({ nin_number: '12345678901' })
    expect(read(map, { data: { id: '' } }).record).toMatchObject({ nin_number: '' })
    expect(read(map, { data: { id: '99999999999' } }).record).toMatchObject({ nin_number: '99999999999' })
  })

  it('of a virtual NIN is in capitals, and may be unreadable where the NIN was', () => {
    const question = { ...QUESTION, number: 'AB012345678910YZ' }
    const map = { number: { at: ['id'], may_be_missing: true } }
    const numberOf = (id: unknown) =>
      (read(map, { data: { id } }, 'virtual_nin', question).record as { nin_number: string }).nin_number
    expect(['ab012345678910yz', '', null, {}].map(numberOf)).toEqual([
      'AB012345678910YZ',
      'AB012345678910YZ',
      'AB012345678910YZ',
      'AB012345678910YZ',
    ])
  })

  it('that the file does not place is empty', () => {
    expect(read({ number: undefined as never }, { data: { id: 5 } }).record).toMatchObject({ nin_number: '' })
  })
})

describe('the phones', () => {
  const phones = (map: Partial<AnswerMap>, data: object, operation: OperationName = 'nin') =>
    filled(map, data, operation) as { phone_number?: string; phone_number_2?: string }

  it('are all of those in the answer', () => {
    expect(phones({}, { tel: '08031234567' }).phone_number).toBe('08031234567')
    expect(
      phones({ phones: ['tel', 'more'] }, { tel: '08031234567', more: '08037654321' }).phone_number,
    ).toMatch(/08031234567.*08037654321/)
  })

  it('may be that of the request, which a rule has compared', () => {
    expect(phones({ phones: [{ asked: 'phone' }] }, { tel: '0809' }).phone_number).toBe('08031234567')
  })

  it('of a BVN may be two', () => {
    const data = { tel: '08031234567', second: '08037654321' }
    expect(phones({ second_phones: ['second'] }, data, 'bvn')).toMatchObject({
      phone_number: '08031234567',
      phone_number_2: '08037654321',
    })
    expect(phones({}, data, 'bvn').phone_number_2).toBeUndefined()
  })
})

describe('the fields', () => {
  const map = (source: unknown) =>
    ({ fields: { personal_info: { first_name: source } } }) as Partial<AnswerMap>
  const firstName = (source: unknown, data: object) =>
    (filled(map(source), data) as { first_name?: string }).first_name

  it('are read from a path, the first of some, several together, the top or the request', () => {
    expect(firstName('a', { a: 'Ada' })).toBe('Ada')
    expect(firstName('a.b', { a: { b: 'Ada' } })).toBe('Ada')
    expect(firstName('$.top', {})).toBe('T')
    expect(firstName(['a', 'b'], { a: '', b: 'Ada' })).toBe('Ada')
    expect(firstName(['a', 'b'], { a: 'Bisi', b: 'Ada' })).toBe('Bisi')
    expect(firstName({ join: ['a', 'b'] }, { a: 'Ada', b: 'Bisi' })).toBe('Ada Bisi')
    expect(firstName([{ join: ['a'] }, 'b'], { b: 'Ada' })).toBe('Ada')
    expect(firstName({ asked: 'first_name' }, {})).toBe('Asked')
  })

  it('may have the names of our fields, and those of the file count before them', () => {
    const data = { personal_info: { first_name: 'Ada', last_name: 'Obi' }, id: 1 }
    expect(filled({ same_fields: true }, data)).toMatchObject({ first_name: 'Ada', last_name: 'Obi' })
    expect(filled({ same_fields: true, ...map('other') }, { ...data, other: 'Bisi' })).toMatchObject({
      first_name: 'Bisi',
      last_name: 'Obi',
    })
    expect(filled({}, data)).not.toHaveProperty('first_name')
    const top = { same_fields: true, fields: { document_no: 'doc' } } as Partial<AnswerMap>
    expect(read(top, { data: { document_no: 'same', doc: 'own' } }).record).toMatchObject({
      document_no: 'own',
    })
  })

  it('are told from parts of the record', () => {
    const sources = ['a', ['a'], { join: ['a'] }, { asked: 'first_name' }, { a: 'b' }, undefined]
    expect(sources.map((source) => isSource(source as never))).toEqual([true, true, true, true, false, false])
  })
})

it('the reference, the price and the virtual NIN are given where the file places them', () => {
  const body = { data: { id: 1, ref: 'r1', cost: 50, vnin: 'AB' } }
  expect(read({}, body)).toEqual({ found: true, record: expect.any(Object), reference: undefined })
  const map = { reference: 'ref', price: 'cost', virtual_nin: { at: ['none', 'vnin'] } }
  expect(read(map, body)).toMatchObject({ reference: 'r1', price: 50, virtualNin: 'AB' })
  expect(read(map, body)).not.toHaveProperty('mayOmitVirtualNin')
  const omitted = { virtual_nin: { at: ['vnin'], may_be_missing: true } }
  expect(read(omitted, { data: {} })).toMatchObject({ mayOmitVirtualNin: true, virtualNin: undefined })
})
