import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toAnswerShape } from '../../src/sources/answer-shape.ts'

const shape = (answer: unknown, personal: readonly string[] = []) =>
  toAnswerShape(answer, { known: ['spokenTongue'], personal })

describe('the shape of an answer', () => {
  it('has no letter and no digit of a value, and keeps types, lengths and signs', () => {
    expect(
      shape({
        status: true,
        error: null,
        entity: {
          first_name: 'Chukwuemeka',
          date_of_birth: '1990-01-05',
          email: 'ada.obi@example.com',
          height: 171.5,
          phones: ['+234 803', 'ọ̀ṣun'],
        },
      }),
    ).toEqual({
      status: true,
      error: null,
      entity: {
        first_name: 'AAAAAAAAAAA',
        date_of_birth: '9999-99-99',
        email: 'AAA.AAA@AAAAAAA.AAA',
        height: 'number 999.9',
        phones: ['+999 999', 'AAAAA'],
      },
    })
  })

  it('cuts long texts, lists and depths', () => {
    const deep = JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`)
    expect(shape('x'.repeat(5000))).toBe(`${'A'.repeat(64)}… length 5000`)
    expect(shape(Array(25).fill(1))).toEqual([...Array(20).fill('number 9'), 'length 25'])
    expect(JSON.stringify(shape(deep))).toContain('too deep')
  })

  it('keeps names of members that consist of usual words or stand in the file', () => {
    const names = ['firstName', 'birthcountry', 'NINData', 'residence_address_line_1', 'telephoneno']
    const answer = Object.fromEntries([...names, 'spokenTongue'].map((name) => [name, null]))
    expect(shape(answer)).toEqual(answer)
  })

  it('replaces names of members that may be about a person', () => {
    expect(
      Object.keys(
        shape({ '08031234567': 1, '0-8-0-3-1': 1, 'Adaeze Obi': 1, adaezePhone: 1, Toby: 1, success: 1 }, [
          'Success',
        ]) as object,
      ),
    ).toEqual(['99999999999', '9-9-9-9-9', 'AAAAAA AAA', 'AAAAAAPhone', 'AAAA', 'AAAAAAA'])
  })

  it('keeps members apart whose names have the same shape', () => {
    expect(shape({ Adaeze: 1, Ngozie: true })).toEqual({ AAAAAA: 'number 9', 'AAAAAA (2)': true })
  })
})

const digits = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'012345678'), minLength: length, maxLength: length })
const planted = fc.oneof(
  digits(11),
  digits(7).map((end) => `0803${end}`),
  digits(7).map((end) => `+234803${end}`),
  fc.constantFrom('Chukwuemeka', 'ADAEZE', 'Ngozi', 'Oluwaseun', 'ibrahim', 'Ọládélé', 'Toby', 'Okonkwo'),
  fc.uint8Array({ minLength: 40, maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('base64')),
)

/** An answer in which personal data stands anywhere, and the list of it. */
const answers = fc.letrec<{ value: unknown; list: unknown[]; members: Record<string, unknown> }>((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, planted, fc.boolean(), tie('list'), tie('members')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  members: fc.dictionary(
    fc.oneof(
      fc.constantFrom('data', 'first_name', 'photo', 'entity'),
      planted.filter((text) => text.length < 60),
      planted.filter((text) => text.length < 60).map((text) => `phone_${text}`),
    ),
    tie('value'),
    { maxKeys: 5 },
  ),
}))

function* listPlanted(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (Array.isArray(value)) for (const item of value) yield* listPlanted(item)
  else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) {
      if (!['data', 'first_name', 'photo', 'entity'].includes(name)) yield name.replace('phone_', '')
      yield* listPlanted(inner)
    }
}

it('contains no personal data, wherever it stands in the answer', () => {
  fc.assert(
    fc.property(answers.members, (answer) => {
      const text = JSON.stringify(shape(answer))
      for (const personal of listPlanted(answer)) {
        expect(text).not.toContain(personal)
        // Nor a part of it: five characters of a picture are as good as none.
        expect(text).not.toContain(personal.slice(0, 5))
      }
    }),
    { numRuns: 2000 },
  )
})
