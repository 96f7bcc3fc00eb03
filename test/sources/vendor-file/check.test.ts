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
      'must not contain a value of a person, a call or a time.',
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
    ['texts', { funds: ['no money'] }, 'texts.funds has the name of a list that every file has.'],
    ['operations', {}, 'operations needs one of nin, virtual_nin and bvn.'],
    [
      'operations',
      { virtual_nin: { request: FILE.operations.nin.request } },
      'operations.virtual_nin needs operations.nin beside it.',
    ],
    [
      'operations.nin.request',
      { method: 'GET', path: '/nin/{number}', body: {} },
      'operations.nin.request.body: a GET has none.',
    ],
    ['operations.nin.request.body', { '{nmber}': '{number}' }, 'has the value {nmber}, which is neither'],
    ['operations.nin.request.body', ['{number}', '{nmber}'], 'request.body[1] has the value {nmber},'],
    ['operations.nin.request.body', { id: '{number}', s: '{signature}' }, 'has the value {signature},'],
    [
      'operations.nin.request.headers',
      { 'Content-Length': '1' },
      'headers.Content-Length is set by the program.',
    ],
    [
      'operations.nin.request.headers',
      { 'x-day': '{date_of_birth_short}' },
      'must not have a name or a date',
    ],
    [
      'authentication.headers',
      { 'x-key': '{key} {full_name}' },
      'authentication.headers.x-key must not have a name',
    ],
    [
      'authentication.headers',
      { 'x-key': '{key}{kee}' },
      'authentication.headers.x-key has the value {kee},',
    ],
    [
      'authentication.hmac',
      { algorithm: 'sha256', key: '{key}', over: ['{time}'], encoding: 'hex' },
      'authentication.hmac is never used: {signature} stands in no request.',
    ],
    [
      'authentication.hmac',
      { algorithm: 'sha256', key: '{kee}', over: ['{tyme}'], encoding: 'hex' },
      'authentication.hmac.over[0] has the value {tyme},',
    ],
    [
      'authentication.token',
      { request: { method: 'POST', path: '/t', body: '{phone}' }, token_at: 't' },
      'authentication.token.request.body must not contain a value of a person, a call or a time.',
    ],
    [
      'authentication.token',
      { request: { method: 'POST', path: '/t', body: { at: '{time}' } }, token_at: 't' },
      'authentication.token.request.body.at must not contain a value of a person, a call or a time.',
    ],
    [
      'authentication.token',
      { request: { method: 'POST', path: '/t', headers: { te: 'x' } }, token_at: 't' },
      'authentication.token.request.headers.te is set by the program.',
    ],
    [
      'authentication.token',
      { request: { method: 'POST', path: '/t' }, basic: { user: 'x', password: '{kee}' }, token_at: 't' },
      'authentication.token.basic.password has the value {kee},',
    ],
    ['rules.spare', FILE.rules.all, 'rules.spare is never used.'],
    ['rules.all', [FILE.rules.all[0]], 'rules.all has no rule for found.'],
    ['rules.all.1.if', {}, 'rules.all[1].if must not be empty.'],
    ['rules.all.1.status_at', 'code', 'rules.all[1]: by_status and status_at go together.'],
    ['rules.all.1.then', 'by_status', 'rules.all[1]: by_status and status_at go together.'],
    ['rules.all.0.if.values', [{ at: 'code' }], 'rules.all[0].if.values[0] needs one of is and is_not.'],
    [
      'rules.all.0.if.values',
      [{ at: 'code', is: ['44'], is_not: ['45'] }],
      'rules.all[0].if.values[0] needs one of is and is_not.',
    ],
    [
      'rules.all.0.if.values.0.at',
      'a.valueOf',
      'rules.all[0].if.values[0] names a.valueOf, which is no member',
    ],
    ['rules.all.1.if.absent', ['a.constructor'], 'rules.all[1].if.absent[0] names a.constructor,'],
    ['rules.all.1.if.any_present', ['toString'], 'rules.all[1].if.any_present[0] names toString,'],
    ['rules.all.0.if.text', { says: ['ours'] }, 'if.text names ours, which is neither a list in texts nor'],
    [
      'rules.all.0.if.text',
      { says: ['funds'], unless: ['ours'] },
      'if.text names ours, which is neither a list',
    ],
    ['rules.all.0.if.text', { says: ['toString'] }, 'if.text names toString, which is neither a list'],
    [
      'rules.all.0.if.text',
      { says: ['{key}'] },
      'names {key}, which is neither {not_found} nor a setting of the type',
    ],
    ['rules.all.0.if.text', { at: 'hasOwnProperty', says: ['funds'] }, 'if.text names hasOwnProperty,'],
    ['answers.nin', undefined, 'answers needs the member nin, for operations.nin.'],
    ['answers.virtual_nin', FILE.answers.nin, 'answers.virtual_nin is never used.'],
    ['answers.nin.second_phones', ['b'], 'answers.nin.second_phones is for a BVN only.'],
    ['answers.nin.fields', undefined, 'answers.nin needs the member fields, or "same_fields": true.'],
    ['answers.nin.record', ['valueOf'], 'answers.nin.record[0] names valueOf, which is no member'],
    ['answers.nin.phones', [{ asked: 'phone' }], 'answers.nin.phones[0] is the phone of the request, which'],
    ['answers.nin.fields', { personal_info: { first_name: [{ asked: 'first_name' }] } }, 'must be a path'],
    [
      'answers.nin.fields',
      { personal_info: { first_name: { asked: 'first_name' } } },
      'answers.nin.fields.personal_info.first_name is the first_name of the request, which operations.nin never',
    ],
    [
      'answers.nin.fields',
      { personal_info: { first_name: { asked: 'first_name' } } },
      'rules.all[1]: found must follow from a value that says that the details match',
    ],
    [
      'settings.number',
      { help: 'The number of it.' },
      'settings.number: every vendor has a value of this name.',
    ],
    [
      'settings.signature',
      { help: 'The signature.' },
      'settings.signature: every vendor has a value of this',
    ],
    [
      'settings.key',
      { help: 'Key of the account.', required: true, default: 'x' },
      'settings.key is required, so it has no default.',
    ],
    ['settings.other', { help: 'A pattern of texts.', type: 'pattern' }, 'settings.other needs a default.'],
    [
      'settings.other',
      { help: 'A path below it.', type: 'path', default: 'x' },
      'settings.other.default must',
    ],
    [
      'settings.Key',
      { help: 'Key of the account.' },
      'settings has a member with the name Key: names are small',
    ],
    ['rules.all.0.if.values.0.at', 'a b', 'rules.all[0].if.values[0].at must be the names of members'],
  ])('is refused with %s: %j', (place, value, problem) => {
    expect(problemsWith(place, value).join('\n')).toContain(problem)
  })

  it.each([
    ['operations.nin.request.path', '{key}'],
    ['operations.nin.request.body', { id: '{number}', at: '{time_ms}', of: '{phone}' }],
    ['operations.nin.request.headers', { 'x-number': '{number}' }],
    ['answers.nin.same_fields', true],
    ['rules.all.1.if.text', { says: ['funds', '{not_found}'], unless: ['temporary'] }],
    [
      'rules.all.0.if.values',
      [
        { at: 'code', is: ['44'] },
        { at: 'more', is_not: [true] },
      ],
    ],
  ])('may have %s: %j', (place, value) => {
    expect(problemsWith(place, value)).toEqual([])
  })

  it('may take details from the request that it sent and that the vendor compared', () => {
    const body = { id: '{number}', name: '{full_name}', born: '{date_of_birth_numeric}', tel: '{phone_234}' }
    const match = toRule('person', { values: [{ at: 'match', is: ['yes'] }] }, 'found')
    const asked = (detail: string) => ({ asked: detail })
    const file = {
      ...FILE,
      operations: { nin: { request: { ...FILE.operations.nin.request, body } } },
      answers: {
        nin: {
          ...FILE.answers.nin,
          phones: [asked('phone')],
          fields: {
            personal_info: {
              first_name: asked('first_name'),
              last_name: asked('last_name'),
              date_of_birth: asked('date_of_birth'),
            },
          },
        },
      },
      rules: { all: [FILE.rules.all[0], match] },
    }
    expect(checkVendorFile(file)).toEqual({ file })
    for (const name of ['name', 'born', 'tel'] as const) {
      const { [name]: _, ...less } = body
      const request = { ...FILE.operations.nin.request, body: less }
      const { problems } = checkVendorFile({ ...file, operations: { nin: { request } } }) as {
        problems?: string[]
      }
      expect(problems?.join('\n'), name).toContain('never sends to the vendor')
    }
  })

  it('may be signed', () => {
    const hmac = { algorithm: 'sha256', key: '{key}', over: ['{time}'], encoding: 'hex' }
    const file = { ...FILE, authentication: { hmac, headers: { 'x-sign': '{signature}' } } }
    expect(checkVendorFile(file)).toEqual({ file })
  })

  it('has at most 50 levels', () => {
    const nest = (levels: number): unknown => (levels === 0 ? '{number}' : [nest(levels - 1)])
    expect(problemsWith('operations.nin.request.body', nest(46))).toEqual([])
    expect(problemsWith('operations.nin.request.body', nest(47))).toEqual([
      'the file is nested deeper than 50 levels.',
    ])
  })

  it('has one sentence for each problem, and none of them twice', () => {
    const problems = problemsWith('rules.all.0', { name: 5, extra: 1 })
    expect(problems).toEqual([...new Set(problems)])
    expect(problems).toContain('rules.all[0] needs the member if.')
    expect(problems).toContain('rules.all[0].name must be string.')
    expect(problems.join()).toContain('rules.all[0] has an unknown member, extra. Known here: name,')
    expect(problems.join()).not.toContain('$comment')
    const [long] = problemsWith('x'.repeat(100), 1)
    expect(long).toContain(`an unknown member, ${'x'.repeat(60)}. Known`)
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
