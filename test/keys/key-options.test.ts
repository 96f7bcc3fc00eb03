import { describe, expect, it } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/contract/time.ts'
import {
  InvalidOption,
  PersonNumber,
  readAddresses,
  readClientCerts,
  readCount,
  readFields,
  readKeyDuration,
  readLifetime,
  readName,
  readNote,
  readOwner,
  readScopes,
} from '../../src/keys/key-options.ts'

const HEX = '3f'.repeat(32)

describe('fingerprints of client certificates', () => {
  it.each([
    `sha256:${HEX}`,
    `SHA256:${HEX.toUpperCase()}`,
    HEX.replaceAll(/..(?!$)/g, '$&:').replace(/^/, 'sha256:'),
    ` sha256:${HEX} , sha256:${HEX}`,
  ])('are read from %s', (text) => expect(readClientCerts(text)).toEqual([`sha256:${HEX}`]))

  it('may be several', () => {
    const other = `sha256:${'ab'.repeat(32)}`
    expect(readClientCerts(other, [`sha256:${HEX}`])).toEqual([`sha256:${HEX}`, other])
  })

  it.each(['', HEX, `sha1:${HEX}`, `sha256:${HEX.slice(2)}`, `sha256:${HEX}00`, `sha256:${HEX},x`])(
    'are not read from %j',
    (text) => expect(() => readClientCerts(text)).toThrow(InvalidOption),
  )

  it('are at most eight', () => {
    const many = Array.from({ length: 9 }, (_, index) => `sha256:0${index}${HEX.slice(2)}`)
    expect(readClientCerts(many.slice(1).join())).toHaveLength(8)
    expect(() => readClientCerts(many.join())).toThrow(/one to 8/)
  })
})

describe('a duration of a key', () => {
  it.each([
    ['30m', 30 * MINUTE_MS],
    ['12h', 12 * HOUR_MS],
    [' 90d ', 90 * DAY_MS],
    ['1y', 365 * DAY_MS],
    ['100y', 36_500 * DAY_MS],
    ['36500d', 36_500 * DAY_MS],
  ])('is read from %j', (text, expected) => {
    expect(readKeyDuration(text)).toBe(expected)
    expect(readLifetime(text)).toBe(expected)
  })

  it.each(['', '12', 'h', '12 h', '-1d', '1.5h', '36501d', '101y'])('is not read from %j', (text) => {
    expect(() => readKeyDuration(text)).toThrow(InvalidOption)
    expect(() => readLifetime(text)).toThrow('Give a number and a unit')
  })

  it('may be nothing as an overlap, and not as a lifetime', () => {
    expect(readKeyDuration('0m')).toBe(0)
    expect(() => readLifetime('0m')).toThrow('above 0')
    expect(readLifetime('1s')).toBe(1000)
  })
})

describe('scopes', () => {
  it('are a list of known ones, each once, with those given before', () => {
    expect(readScopes('kyc:nin')).toEqual(['kyc:nin'])
    expect(readScopes(' kyc:nin , ,kyc:bvn,kyc:nin')).toEqual(['kyc:nin', 'kyc:bvn'])
    expect(readScopes('kyc:nin', ['catalogue:read', 'kyc:nin'])).toEqual(['catalogue:read', 'kyc:nin'])
  })

  it.each(['', ' , ', 'kyc', 'kyc:nin,all', 'KYC:NIN'])('are not read from %j', (text) => {
    expect(() => readScopes(text)).toThrow('The scopes are kyc:nin, kyc:bvn, catalogue:read.')
  })
})

describe('addresses', () => {
  it('are a list, with those given before', () => {
    expect(readAddresses('203.0.113.7, 10.0.0.0/8')).toEqual(['203.0.113.7', '10.0.0.0/8'])
    expect(readAddresses('2001:db8::/32', ['10.0.0.1'])).toEqual(['10.0.0.1', '2001:db8::/32'])
  })

  it.each(['', ',', 'example.com', '10.0.0.1,x', '10.0.0.0/33'])('are not read from %j', (text) => {
    expect(() => readAddresses(text)).toThrow(InvalidOption)
  })
})

describe('the name of a key', () => {
  it.each(['x', ' shop ', 'é'.repeat(80)])('may be %j', (text) => expect(readName(text)).toBe(text.trim()))

  it.each(['', '  ', 'x'.repeat(81), 'a\nb', 'a\u0000'])('may not be %j', (text) => {
    expect(() => readName(text)).toThrow('Give a name of 1 to 80 characters.')
  })

  it('holds no number of a person, which is not repeated', () => {
    expect(() => readName('shop 41000000001')).toThrow(PersonNumber)
    expect(() => readName('shop 41000000001')).toThrow(/^The name must not hold ten digits/)
    expect(() => readName('shop 41000000001')).not.toThrow('41000000001')
  })
})

describe.each([
  ['owner', readOwner, 80],
  ['note', readNote, 500],
] as const)('the %s of a key', (what, read, most) => {
  it('is one line of some length', () => {
    expect(read(' Payments team ')).toBe('Payments team')
    expect(read('x'.repeat(most))).toHaveLength(most)
    for (const text of ['', '   ', 'x'.repeat(most + 1), 'a\nb'])
      expect(() => read(text)).toThrow(`Give one line of 1 to ${most} characters.`)
  })

  it('holds no number of a person', () => {
    expect(() => read('call 08031234567')).toThrow(PersonNumber)
    expect(() => read('call 08031234567')).toThrow(new RegExp(`^The ${what} must not`))
  })
})

describe('fields', () => {
  it('are names of fields and groups as they are given, with those given before', () => {
    expect(readFields('religion, next_of_kin')).toEqual(['religion', 'next_of_kin'])
    expect(readFields('personal_info.email', ['religion'])).toEqual(['religion', 'personal_info.email'])
  })

  it.each(['', ' , ', 'shoe_size', 'religion,shoe_size'])('are not read from %j', (text) => {
    expect(() => readFields(text)).toThrow(InvalidOption)
  })
})

describe('a count', () => {
  it.each([
    ['1', 1],
    ['2000', 2000],
    ['999999999', 999_999_999],
  ])('is read from %j', (text, expected) => expect(readCount(text)).toBe(expected))

  it.each(['', '0', '01', '-1', '1.5', '1e3', '1000000000', ' 1'])('is not read from %j', (text) => {
    expect(() => readCount(text)).toThrow('Give a whole number above 0.')
  })
})
