import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkVendorFile } from '../../../src/sources/vendor-file/check.ts'
import { loadVendorFile } from '../../../src/sources/vendors.ts'

const FILE = {
  title: 'Acme',
  documentation: { url: 'https://docs.acme.example', read: '2026-11-05' },
  address: 'https://api.acme.example',
  settings: { key: { required: true, secret: true, help: 'Key of the account.' } },
  authentication: { headers: { 'x-key': '{key}' } },
  operations: { nin: { request: { method: 'POST', path: '/nin', body: { id: '{number}' } } } },
  answers: {
    nin: {
      rules: 'all',
      record: ['person'],
      number: { at: ['nin'] },
      phones: ['phone'],
      fields: { document_no: 'doc' },
    },
  },
  rules: {
    all: [
      toRule('nobody', { values: [{ at: 'code', is: ['44'] }] }, 'not_found'),
      toRule('person', { status: [200], present: ['person'] }, 'found'),
    ],
  },
}

function toRule(name: string, condition: object, then: string) {
  return { name, if: condition, then }
}

/** The problems of the file after a change at a place such as rules.all.0.then. */
function problemsWith(place: string, value: unknown): readonly string[] {
  const file = structuredClone(FILE) as Record<string, unknown>
  const names = place.split('.')
  const last = names.pop() as string
  const part = names.reduce((inner, name) => inner[name] as Record<string, unknown>, file)
  if (value === undefined) delete part[last]
  else part[last] = value
  return (checkVendorFile(file) as { problems?: readonly string[] }).problems ?? []
}

const rule = (condition: object, then = 'not_found') => [
  { name: 'rule', if: condition, then },
  FILE.rules.all[1],
]

describe('a vendor file', () => {
  it('is accepted if its parts fit together', () => {
    expect(checkVendorFile(FILE)).toEqual({ file: FILE })
  })

  it('may have a remark in every object', () => {
    const withRemark = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(withRemark)
      if (typeof value !== 'object' || value === null) return value
      const entries = Object.entries(value).map(([name, inner]) => [name, withRemark(inner)])
      return { $comment: 'A remark.', ...Object.fromEntries(entries) }
    }
    expect(checkVendorFile(withRemark(FILE))).toEqual({ file: FILE })
  })

  it.each([
    ['title', undefined, 'the file needs the member title.'],
    ['tittle', 'x', 'the file has an unknown member, tittle. Known here: title,'],
    ['rules.all.0.then', 'gone', 'rules.all[0].then must be one of found, not_found,'],
    ['rules.all.0.if.status', ['404'], 'rules.all[0].if.status[0] must be integer.'],
    ['answers.nin.fields.document_no', 5, 'answers.nin.fields.document_no must be a path, a list of paths'],
    ['answers.nin.fields.shoe_size', 'x', 'answers.nin.fields has an unknown member, shoe_size.'],
    ['answers.nin.rules', '__proto__', 'answers.nin.rules names __proto__, which is not in rules.'],
    ['answers.nin.phones', ['constructor'], 'answers.nin.phones[0] names constructor, which is no member'],
    ['answers.nin.number', undefined, 'answers.nin needs the member number'],
    ['operations.nin.request.body', { id: '{numbr}' }, 'has the value {numbr}, which is neither a setting'],
    ['operations.nin.request.body', { id: 'x' }, 'operations.nin.request never sends {number}.'],
    [
      'operations.nin.request.path',
      'https://elsewhere.example',
      'operations.nin.request.path must begin with /',
    ],
    ['operations.nin.request.headers', { host: 'x' }, 'request.headers.host is set by the program.'],
    [
      'operations.nin.request.headers',
      { 'x-name': '{first_name}' },
      'must not have a name or a date of a person',
    ],
    ['operations.nin.request.headers', { 'a b': 'x' }, 'request.headers.a b is not the name of a header.'],
    [
      'authentication.basic',
      { user: '{number}', password: '{key}' },
      'must not contain a value of a person.',
    ],
    [
      'authentication.token',
      { request: { method: 'POST', path: 'token' }, token_at: 't' },
      'path must begin with /',
    ],
    [
      'rules.all.1.if.present',
      ['__proto__'],
      'rules.all[1].if.present[0] names __proto__, which is no member',
    ],
    ['rules.all.1.if.present', ['toString'], 'rules.all[1].if.present[0] names toString, which is no member'],
    ['error_text', 'constructor', 'error_text names constructor, which is no member'],
    [
      'answers.nin.phones',
      ['phone', { asked: 'phone' }],
      'answers.nin must not take phones both from the answer and from the request',
    ],
    ['settings.url', { help: 'The address of it.' }, 'settings.url: every vendor has a value of this name.'],
    ['settings.spare', { help: 'Nothing uses this one.' }, 'settings.spare is never used.'],
    ['texts', { spare: ['no such one'] }, 'texts.spare is never used.'],
  ])('is refused with %s: %j', (place, value, problem) => {
    expect(problemsWith(place, value).join('\n')).toContain(problem)
  })

  it.each([
    [{ status: [404] }],
    [{ status: [200], absent: ['person'] }],
    [{ status: [404], present: ['error'] }],
    [{ values: [{ at: 'statusCode', is: [404] }] }],
    [{ values: [{ at: 'code', is_not: ['00'] }] }],
    [{ status: [200], values: [{ at: 'success', is: [false] }] }],
    [{ status: [200], values: [{ at: 'success', is: [true] }], absent: ['person'] }],
    [{ values: [{ at: 'status', is: ['error', 'Failed'] }] }],
    [{ values: [{ at: 'code', is: ['00', 0, 200] }] }],
    [{ values: [{ at: 'code', is: ['44', 'BAD_REQUEST'] }] }],
    [{ status: [404], values: [{ at: 'error', is: ['Not Found'] }] }],
    [{ status: [404], values: [{ at: 'error.status', is: ['NOT_FOUND'] }] }],
    [{ status: [400], values: [{ at: 'message', is: ['Insufficient balance'] }] }],
  ])('must not conclude from %j that there is no such person', (condition) => {
    expect(problemsWith('rules.all', rule(condition)).join('\n')).toContain(
      'not_found needs a text, or a value',
    )
    expect(problemsWith('rules.all', rule(condition, 'failure'))).toEqual([])
  })

  it.each([
    [{ values: [{ at: 'data.status', is: ['not_found'] }] }],
    [{ values: [{ at: 'code', is: ['01', 1] }] }],
    [{ values: [{ at: 'hits', is: [0] }] }],
    [{ values: [{ at: 'data.found', is: [false] }] }],
    [{ values: [{ at: 'result.phone_match', is: ['no'] }] }],
    [{ values: [{ at: 'success', is: [false] }], text: { says: ['no_such_person'] } }],
  ])('may conclude it from %j', (condition) => {
    expect(problemsWith('rules.all', rule(condition))).toEqual([])
  })

  it('must not have a pattern for it that holds for an error of another kind', () => {
    const all = rule({ text: { says: ['{other}'] } })
    const problemsOf = (pattern: string) => {
      const other = { type: 'pattern', help: 'Texts for another phone.', default: pattern }
      const file = { ...FILE, settings: { ...FILE.settings, other }, rules: { all } }
      return (checkVendorFile(file) as { problems?: readonly string[] }).problems?.join() ?? ''
    }
    expect(problemsOf('phone.*differs')).toBe('')
    expect(problemsOf('.*')).toContain('settings.other.default holds for "Not found"')
    expect(problemsOf('fund|balance')).toContain('settings.other.default holds for "Insufficient balance"')
    expect(problemsOf('(')).toContain('settings.other.default must be a regular expression')
  })

  it.each(['temporary', 'format'])('must not conclude it from a text of the list %s', (list) => {
    expect(problemsWith('rules.all', rule({ text: { says: [list] } })).join('\n')).toContain(
      'is not about a person',
    )
  })

  it.each([
    'Not Found',
    'App not found',
    'Try again later',
    'Invalid API key',
    'Failed',
    'Error!',
    'An error occurred.',
    'Verification failed',
    'Bad Request',
    'Internal Server Error',
    'Something went wrong',
    'Too many requests',
    'Access denied',
  ])('must not conclude it from the text %j', (text) => {
    const file = { ...FILE, texts: { own: [text] }, rules: { all: rule({ text: { says: ['own'] } }) } }
    expect((checkVendorFile(file) as { problems?: readonly string[] }).problems?.join()).toContain(
      'it cannot mean',
    )
  })

  it('must not take the phone from a request for a virtual NIN that does not send it', () => {
    const nin = { method: 'POST', path: '/nin', body: { id: '{number}', phone: '{phone}' } }
    const virtual = { method: 'POST', path: '/vnin', body: { id: '{number}' } }
    const match = toRule('person', { values: [{ at: 'phone', is: ['MATCH'] }] }, 'found')
    const file = {
      ...FILE,
      operations: { nin: { request: nin }, virtual_nin: { request: virtual } },
      answers: { nin: { ...FILE.answers.nin, phones: [{ asked: 'phone' }] } },
      rules: { all: [FILE.rules.all[0], match] },
    }
    const unknown = { ...file, answers: { nin: { ...file.answers.nin, rules: '__proto__' } } }
    expect((checkVendorFile(unknown) as { problems?: readonly string[] }).problems).toContain(
      'answers.nin.rules names __proto__, which is not in rules.',
    )
    expect((checkVendorFile(file) as { problems?: readonly string[] }).problems).toEqual([
      'answers.nin.phones[0] is the phone of the request, which operations.virtual_nin never sends to the vendor.',
    ])
  })
})

it('that is not JSON is refused without repeating a piece of it', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'tabbat-vendors-')), 'acme.json')
  writeFileSync(path, '{\n  "nin": "12345678901" oops\n}', { mode: 0o600 })
  expect(loadVendorFile(path)).toEqual({ problems: [`${path}: it is not JSON: line 2, column 24.`] })
})
