import { describe, expect, it } from 'vitest'
import { checkVendorFile } from '../../../src/sources/vendor-file/check.ts'
import { type NewVendor, proposeVendorFile } from '../../../src/sources/vendor-file/propose.ts'

const request = (path: string) => ({ method: 'POST' as const, path, body: { id: '{number}' } })
const VENDOR: NewVendor = {
  title: 'Acme',
  documentation: 'https://docs.acme.example',
  address: 'https://api.acme.example',
  settings: { key: { required: true, secret: true, help: 'Key of the account.' } },
  authentication: { headers: { 'x-key': '{key}' } },
  requests: { nin: request('/nin') },
  answers: {},
}
const ANSWER = {
  status: 'success',
  code: '00',
  data: {
    person: {
      NIN: '12345678901',
      firstName: 'ADA',
      surname: 'OBI',
      middle_name: 'N',
      phone: '08031234567',
      dob: '1990',
    },
  },
}
type File = {
  answers: Record<string, Record<string, unknown>>
  rules: Record<string, { name: string; if: Record<string, unknown>; then: string }[]>
  [name: string]: unknown
}
const propose = (change: Partial<NewVendor> = {}) => {
  const { file, left } = proposeVendorFile({ ...VENDOR, ...change }, new Date('2026-11-17T23:59:00Z'))
  return { file: file as File, left }
}

describe('a proposed vendor file', () => {
  it('is valid, with and without saved answers', () => {
    const requests = { nin: request('/nin'), bvn: request('/bvn') }
    for (const change of [{}, { answers: { nin: ANSWER } }, { requests, answers: { bvn: ANSWER } }]) {
      const { file } = propose(change)
      expect(checkVendorFile(file)).toEqual({ file: expect.any(Object) })
    }
  })

  it('has what is known of the vendor', () => {
    const { file } = propose()
    expect(file).toMatchObject({
      $schema: './vendor.schema.json',
      $comment: 'Begun with "tabbat vendors new". To do: see the remarks.',
      title: 'Acme',
      documentation: { url: 'https://docs.acme.example', read: '2026-11-17' },
      address: 'https://api.acme.example',
      settings: VENDOR.settings,
      authentication: VENDOR.authentication,
      operations: { nin: { request: request('/nin') } },
    })
    expect(file).not.toHaveProperty('error_text')
    expect(file).not.toHaveProperty('texts')
  })

  it('has guesses where there is no saved answer, and says so', () => {
    const { file, left } = propose()
    expect(file.answers.nin).toMatchObject({
      rules: 'look_up',
      $comment: 'Guesses: write the paths of the vendor’s documents.',
      record: ['data'],
      number: { at: ['nin'] },
      phones: ['phone'],
      fields: { personal_info: { first_name: 'first_name', last_name: 'last_name' } },
    })
    expect(left).toEqual([
      'answers.nin: the paths are guesses, because no saved answer says where the fields are.',
      expect.stringMatching(/^rules: by which text does the vendor say that there is no such person\?/),
    ])
  })

  it('finds the record and its fields in a saved answer by the names that vendors have', () => {
    const { file, left } = propose({ answers: { nin: ANSWER } })
    expect(file.answers.nin).toEqual({
      rules: 'look_up',
      $comment: 'Proposed from a saved answer: compare it with the vendor’s documents.',
      record: ['data.person'],
      number: { at: ['NIN'] },
      phones: ['phone'],
      fields: {
        personal_info: {
          first_name: 'firstName',
          last_name: 'surname',
          middle_name: 'middle_name',
          date_of_birth: 'dob',
        },
      },
    })
    expect(left).toHaveLength(1)
    expect(JSON.stringify(file)).not.toMatch(/12345678901|ADA|OBI|08031234567/)
  })

  it('has a rule for a record, with what says that it was found', () => {
    const found = propose({ answers: { nin: ANSWER } }).file.rules.look_up?.[1]
    expect(found).toMatchObject({
      name: 'record',
      if: { status: [200], values: [{ at: 'status', is: ['success'] }], present: ['data.person'] },
    })
    expect(found?.then).toBe('found')
    const top = { ...ANSWER.data.person, success: true, state: 'pending' }
    expect(propose({ answers: { nin: top } }).file.rules.look_up?.[1]?.if).toEqual({
      ...{ status: [200], values: [{ at: 'success', is: [true] }], present: ['NIN'] },
    })
    expect(propose().file.rules.look_up?.[1]?.if).toEqual({ status: [200], present: ['data'] })
  })

  it.each(['nin', 'nin_number', 'idNumber', 'number'])('finds the number under the name %s', (name) => {
    const { answers } = propose({ answers: { nin: { data: { first_name: 'ADA', [name]: '1' } } } }).file
    expect(answers.nin).toMatchObject({ number: { at: [name] } })
  })

  it('says which field of the record is a guess', () => {
    const { file, left } = propose({ answers: { nin: { data: { first_name: 'ADA', ref: 1 } } } })
    expect(file.answers.nin).toMatchObject({ record: ['data'], number: { at: ['nin'] }, phones: ['phone'] })
    expect(left.slice(0, 2)).toEqual([
      'answers.nin: nin is a guess for nin_number.',
      'answers.nin: phone is a guess for personal_info.phone_number.',
    ])
  })

  it('takes all members that mean the same, and none that is a list or a part', () => {
    const record = {
      nin: '1',
      phone: '2',
      mobile: '3',
      telephone: ['4'],
      first_name: 'ADA',
      given_name: 'A',
      surname: {},
    }
    const { answers } = propose({ answers: { nin: { record } } }).file
    expect(answers.nin).toMatchObject({
      ...{ record: ['record'], phones: ['phone', 'mobile'] },
      fields: { personal_info: { first_name: ['first_name', 'given_name'] } },
    })
    expect(JSON.stringify(answers.nin)).not.toContain('surname')
  })

  it('has rules of their own for answers that differ', () => {
    const requests = { nin: request('/nin'), bvn: request('/bvn') }
    const bvn = { result: { bvn: '1', phone_number: '2', first_name: 'ADA', last_name: 'OBI' } }
    const { file } = propose({ requests, answers: { nin: ANSWER, bvn } })
    expect(Object.keys(file.rules)).toEqual(['nin_look_up', 'bvn_look_up'])
    expect(file.answers.bvn).toMatchObject({
      rules: 'bvn_look_up',
      record: ['result'],
      number: { at: ['bvn'] },
    })
    expect(Object.keys(propose({ requests }).file.rules)).toEqual(['look_up'])
  })
})

describe('an answer to a number that does not exist', () => {
  const missing = (status: number, body: unknown) => propose({ missing: { status, body } })
  const saysOf = (file: File) => file.rules.look_up?.[0]

  it('with a usual text needs no text of its own', () => {
    const { file, left } = missing(404, { message: 'NIN not found' })
    expect(saysOf(file)).toMatchObject({
      name: 'no such person',
      if: { status: [404], text: { says: ['no_such_person', '{not_found}'] } },
    })
    expect(saysOf(file)?.then).toBe('not_found')
    expect(file).not.toHaveProperty('texts')
    expect(left).toHaveLength(1)
  })

  it('gives its text, in which the number is replaced', () => {
    const { file } = missing(400, { error: 'We know nobody with 12345678901' })
    expect(file).toMatchObject({ texts: { unknown_number: ['We know nobody with {number}'] } })
    expect(saysOf(file)?.if).toEqual({
      ...{ status: [400], text: { says: ['no_such_person', '{not_found}', 'unknown_number'] } },
    })
    expect(file).not.toHaveProperty('error_text')
  })

  it('gives the place of its text where it is unusual', () => {
    const { file } = missing(200, { ok: false, info: { note: 'Nobody here' } })
    expect(file).toMatchObject({ error_text: 'info.note', texts: { unknown_number: ['Nobody here'] } })
    expect(missing(200, { note: 'Nobody here' }).file.error_text).toBe('note')
  })

  it.each([{ message: '' }, { message: 'Reference 2026 of nobody' }, { code: 'NONE' }, null, 'text'])(
    'without a text that can be taken over leaves a rule to complete: %j',
    (body) => {
      const { file, left } = missing(422, body)
      expect(saysOf(file)?.if).toEqual({ status: [422], text: { says: ['no_such_person', '{not_found}'] } })
      expect(left.join()).toContain('by which text does the vendor say')
      expect(saysOf(propose().file)?.if).toMatchObject({ status: [404, 400, 200] })
    },
  )
})
