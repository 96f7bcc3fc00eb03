import { describe, expect, it } from 'vitest'
import type { OperationName, VendorFile } from '../../../src/sources/vendor-file/schema.ts'
import { tryAnswer } from '../../../src/sources/vendor-file/try-answer.ts'
import { useShippedFile } from '../shipped-file.ts'

const { file } = useShippedFile('dojah')

const ENTITY = {
  nin: '12345678901',
  first_name: 'ADA',
  surname: 'OBI',
  last_name: 'not this one',
  phone_number: '2348031234567',
  residence_address_line_1: '1 Road',
  residence_address_line_2: 'Yaba',
  photo: '/9j/',
  langs: ['yoruba', 'english'],
}

const look = (
  body: unknown,
  {
    status = 200,
    operation = 'nin',
    from = file,
    number,
  }: { status?: number; operation?: OperationName; from?: VendorFile; number?: string } = {},
) => tryAnswer('acme', from, { status, body }, { operation, settings: {}, number })

describe('a saved answer', () => {
  it('gives the record, where its parts come from, and what was not used', () => {
    const { rule, problem, record, uses, unused, asked, checks } = look({ entity: ENTITY, took: 12 })
    expect([rule?.name, problem]).toEqual(['record', undefined])
    expect(record).toMatchObject({
      nin_number: '12345678901',
      personal_info: { first_name: 'ADA', last_name: 'OBI', phone_number: '08031234567' },
      residential_info: { address: '1 Road Yaba' },
    })
    expect(asked).toEqual({ number: '12345678901', phone: '8031234567' })
    expect(checks.map(({ holds }) => holds)).toEqual([true, true, true, true])
    expect(uses).toContainEqual({ path: 'entity.surname', for: 'personal_info.last_name' })
    expect(uses.filter((use) => use.for === 'residential_info.address').map(({ path }) => path)).toEqual([
      'entity.residence_address_line_1',
      'entity.residence_address_line_2',
    ])
    expect(unused).toEqual(['entity.last_name', 'entity.photo', 'entity.langs.0', 'entity.langs.1', 'took'])
  })

  it('may have parts of any depth', () => {
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)
    const { problem, unused } = look({ entity: { ...ENTITY, deep } })
    expect([problem, unused.at(-1)]).toEqual([undefined, `entity.deep${'.0'.repeat(18)}`])
  })

  it('says which parts of a rule do not hold', () => {
    const { tried, rule, problem, record } = look({ error: 'Wrong NIN' }, { status: 404 })
    expect(tried.map(({ holds, parts }) => [holds, ...parts.map((part) => part.holds)])).toEqual([
      [false, true, false],
      [false, false, false],
    ])
    expect([rule, problem, record]).toEqual([undefined, 'unlisted', undefined])
    const missing = look({ error: 'Wrong NIN inputted' }, { status: 404 })
    expect([missing.rule?.then, missing.problem]).toEqual(['not_found', undefined])
    expect(missing).toMatchObject({ uses: [{ path: 'error' }], unused: [] })
  })

  it.each([
    ['contradictory', { error: 'Failed' }, {}, 0],
    ['wrong_person', {}, { number: '12345678902' }, 1],
    ['unknown_shape', { entity: { ...ENTITY, first_name: '', surname: '', last_name: null } }, {}, 2],
    ['no_phone', { entity: { ...ENTITY, phone_number: '' } }, {}, 3],
    ['unreadable_phone', { entity: { ...ENTITY, phone_number: '0803****567' } }, {}, 3],
  ])('is held to the rules of the program: %s', (problem, change, asked, place) => {
    const trial = look({ entity: ENTITY, ...change }, asked)
    expect(trial.problem).toBe(problem)
    expect(trial.checks.map(({ holds }) => holds)).toEqual(
      [0, 1, 2, 3].map((index) => (index < place ? true : index === place ? false : null)),
    )
  })

  it('that says "no record" for another number is about another person, if a number is given', () => {
    const body = { error: 'No record for 99345678901' }
    expect(look(body, { status: 404, number: '12345678901' }).problem).toBe('wrong_person')
    expect(look(body, { status: 404, number: '99345678901' }).problem).toBeUndefined()
    expect(look(body, { status: 404 }).problem).toBeUndefined()
  })

  it('takes the place of nothing when the vendor does not repeat the number', () => {
    const { nin: _, ...entity } = ENTITY
    const { problem, record } = look({ entity }, { number: '12345678909' })
    expect([problem, record]).toEqual([undefined, expect.objectContaining({ nin_number: '12345678909' })])
  })

  it('without a phone is tried as if another had been asked about', () => {
    const { phone_number: _, ...entity } = ENTITY
    const { asked, problem } = look({ entity })
    expect(asked).toEqual({ number: '12345678901', phone: expect.stringMatching(/^\d{10}$/) })
    expect(problem).toBe('no_phone')
  })

  it('may have the names of our fields', () => {
    const answer = {
      rules: 'look_up',
      record: ['entity'],
      number: { at: ['id'] },
      phones: ['tel'],
      same_fields: true,
    }
    const from = { ...file, answers: { nin: answer } } as VendorFile
    const entity = { id: '12345678901', tel: '08031234567', personal_info: { first_name: 'Ada', shoe: 42 } }
    const { uses, unused } = look({ entity }, { from })
    expect(uses).toContainEqual({ path: 'entity.personal_info.first_name', for: 'personal_info.first_name' })
    expect(unused).toEqual(['entity.personal_info.shoe'])
  })

  it.each([null, [], 'text', 7, { entity: [] }, { entity: { nin: {}, phone_number: [[]] } }])(
    'of any form gives a problem and no exception: %j',
    (body) => {
      expect(look(body).problem).toBeDefined()
    },
  )
})
