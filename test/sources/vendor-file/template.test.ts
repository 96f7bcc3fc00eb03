import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { VendorRequest } from '../../../src/sources/vendor-file/schema.ts'
import { compileRequest, listPlaceholders, type Question } from '../../../src/sources/vendor-file/template.ts'

const QUESTION: Question = {
  number: '12345678901',
  phone: '8031234567',
  details: { first_name: 'Ada', last_name: 'Obi', date_of_birth: '1990-01-05' },
  reference: 'ver_1',
  callId: 'a1b2',
  at: new Date('2026-11-17T08:00:00.123Z'),
}
const SETTINGS = { key: 'secret', app: 'a/b', on: 'on', off: 'off', path: '/v2/{number}/x', count: 7 }
const build = (
  request: Partial<VendorRequest>,
  question: Question = QUESTION,
  authentication?: Parameters<typeof compileRequest>[2],
) => compileRequest({ method: 'POST', path: '/nin', ...request }, SETTINGS, authentication)(question)

describe('a value', () => {
  it.each([
    ['number', '12345678901'],
    ['phone', '08031234567'],
    ['phone_234', '2348031234567'],
    ['first_name', 'Ada'],
    ['last_name', 'Obi'],
    ['full_name', 'Ada Obi'],
    ['date_of_birth', '1990-01-05'],
    ['date_of_birth_numeric', '05-01-1990'],
    ['date_of_birth_short', '05-Jan-1990'],
    ['reference', 'ver_1'],
    ['call_id', 'a1b2'],
    ['time', '2026-11-17T08:00:00.123Z'],
    ['time_ms', 1_794_902_400_123],
    ['key', 'secret'],
    ['on', true],
    ['count', 7],
  ])('{%s} is %j, with its type', (name, value) => {
    expect(build({ body: { v: `{${name}}` } }).body).toEqual({ v: value })
  })

  it.each(['first_name', 'last_name', 'full_name', 'date_of_birth', 'date_of_birth_numeric', 'off', 'none'])(
    '{%s} that is missing leaves its member, header and query out',
    (name) => {
      const { details: _, ...question } = QUESTION
      const text = `{${name}}`
      const parts = {
        query: { v: text, w: `a ${text}` },
        headers: { v: text },
        body: { v: text, list: ['x', text] },
      }
      expect(build(parts, question)).toMatchObject({ query: {}, headers: {}, body: { list: ['x'] } })
    },
  )

  it('of a name needs both parts', () => {
    for (const details of [{ first_name: 'Ada' }, { last_name: 'Obi' }])
      expect(build({ body: { v: '{full_name}' } }, { ...QUESTION, details: details as never }).body).toEqual(
        {},
      )
  })

  it('may stand between other text, several times, and in a name', () => {
    const { body } = build({
      body: { 'id_{app}': 'a {number} b {key}{key} c', plain: 'no value', n: 5, x: null },
    })
    expect(body).toEqual({ 'id_a/b': 'a 12345678901 b secretsecret c', plain: 'no value', n: 5, x: null })
    expect(listPlaceholders('{a} {b1_c} {} {A} {1} {a')).toEqual(['a', 'b1_c'])
  })
})

describe('a request', () => {
  it('has what the file says, and nothing else', () => {
    expect(build({})).toEqual({ method: 'POST', path: '/nin', headers: {} })
    expect(
      build({ method: 'GET', query: { id: '{number}', n: '{count}' }, headers: { 'x-on': '{on}' } }),
    ).toEqual({
      ...{ method: 'GET', path: '/nin', query: { id: '12345678901', n: '7' }, headers: { 'x-on': 'true' } },
    })
  })

  it('has a path whose values are encoded, but for a path of the settings', () => {
    expect(
      build({ path: '/nin/{number}/{app}?x={first_name}' }, { ...QUESTION, details: undefined }).path,
    ).toBe('/nin/12345678901/a%2Fb?x=')
    expect(build({ path: '{path}/end' }).path).toBe('/v2/12345678901/x/end')
  })

  it('has the headers of every request, and its own before them', () => {
    const authentication = { headers: { 'x-key': '{key}', 'x-both': 'every' } }
    expect(build({ headers: { 'x-both': 'own' } }, QUESTION, authentication).headers).toEqual({
      'x-key': 'secret',
      'x-both': 'own',
    })
  })

  it('has a user and a password', () => {
    const basic = { user: '{app}', password: 'p {key}' }
    expect(build({}, QUESTION, { basic }).headers).toEqual({
      authorization: `Basic ${Buffer.from('a/b:p secret').toString('base64')}`,
    })
    const empty = { user: '{none}', password: '{off}' }
    expect(build({}, QUESTION, { basic: empty }).headers).toEqual({ authorization: 'Basic Og==' })
  })

  it.each([
    ['sha256', 'base64'],
    ['sha512', 'hex'],
  ] as const)('is signed with %s in %s', (algorithm, encoding) => {
    const hmac = { algorithm, encoding, key: 'k-{key}', over: ['{time}', '{first_name}', 'id'] }
    const sign = (text: string) => createHmac(algorithm, 'k-secret').update(text).digest(encoding)
    const request = { body: { signature: '{signature}', of: 's={signature}' } }
    const signature = sign('2026-11-17T08:00:00.123ZAdaid')
    expect(build(request, QUESTION, { hmac }).body).toEqual({ signature, of: `s=${signature}` })
    // A value that is missing is signed as nothing.
    const without = build(request, { ...QUESTION, details: undefined }, { hmac })
    expect(without.body).toMatchObject({ signature: sign('2026-11-17T08:00:00.123Zid') })
  })
})
