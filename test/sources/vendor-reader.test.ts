import { describe, expect, it } from 'vitest'
import { listPlainHttp, readVendors } from '../../src/sources/vendor-reader.ts'
import { SHIPPED_VENDORS } from '../../src/sources/vendors.ts'

const GIVEN = { TABBAT_DOJAH_APP_ID: 'app', TABBAT_DOJAH_SECRET: 'secret' }
const NOTHING = { sourcesPrivate: 'off', sourcesPlainHttp: 'off' } as const
const read = (
  given: Record<string, string>,
  named: readonly string[] = [],
  allowed: Parameters<typeof readVendors>[3] = NOTHING,
) => {
  const problems: string[] = []
  const vendors = readVendors(SHIPPED_VENDORS, new Set(named), given, allowed, problems)
  return { vendors, problems }
}

describe('a vendor', () => {
  it('is used if a required setting is given, or if it is named', () => {
    expect(Object.keys(read({}).vendors)).toEqual([])
    expect(Object.keys(read({ TABBAT_DOJAH_PRICE: '5' }).vendors)).toEqual([])
    const { vendors, problems } = read(GIVEN)
    expect([Object.keys(vendors), problems]).toEqual([['dojah'], []])
    expect(vendors.dojah).toMatchObject({
      url: 'https://api.dojah.io',
      price: 0,
      dailyCap: undefined,
      connections: 512,
    })
    expect(Object.keys(read(GIVEN, ['prembly']).vendors).toSorted()).toEqual(['dojah', 'prembly'])
  })

  it('that is named says which settings are missing, without their values', () => {
    const { problems } = read({ TABBAT_DOJAH_APP_ID: 'app' }, ['dojah'])
    expect(problems).toEqual([expect.stringMatching(/^TABBAT_DOJAH_SECRET is required to use dojah: /)])
  })

  it('says what is wrong with a setting once', () => {
    const { problems } = read({ ...GIVEN, TABBAT_DOJAH_PRICE: 'x', TABBAT_DOJAH_DAILY_CAP: '1' })
    expect(problems).toEqual([expect.stringContaining('TABBAT_DOJAH_PRICE')])
  })

  it.each([
    ['.*', 'holds for "Not found"'],
    ['balance|phone', 'holds for "Insufficient balance"'],
    ['phone .* differs', undefined],
    ['(', 'must be a regular expression'],
  ])('refuses %j for texts about another phone: %s', (pattern, problem) => {
    const account = { CLIENT_ID: 'client', APP_NAME: 'app', API_KEY: 'key', MISMATCH: pattern }
    const given = Object.entries(account).map(([name, value]) => [`TABBAT_BLUSALT_${name}`, value])
    expect(read(Object.fromEntries(given)).problems).toEqual(
      problem === undefined ? [] : [expect.stringContaining(`TABBAT_BLUSALT_MISMATCH ${problem}`)],
    )
  })

  it('has prices in kobo, one for all or one for each operation', () => {
    const prices = { TABBAT_DOJAH_PRICE: '50', TABBAT_DOJAH_NIN_PRICE: '60.5', TABBAT_DOJAH_BVN_PRICE: '0' }
    const { dojah } = read({ ...GIVEN, ...prices, TABBAT_DOJAH_DAILY_CAP: '1000' }).vendors
    expect(dojah).toMatchObject({ price: 5000, prices: { nin: 6050, bvn: 0 }, dailyCap: 100_000 })
  })
})

describe('a daily cap', () => {
  const problemsOf = (given: Record<string, string>) => read({ ...GIVEN, ...given }).problems

  it.each([
    [{ TABBAT_DOJAH_DAILY_CAP: '100' }],
    [{ TABBAT_DOJAH_DAILY_CAP: '100', TABBAT_DOJAH_PRICE: '0' }],
    [
      {
        TABBAT_DOJAH_DAILY_CAP: '100',
        TABBAT_DOJAH_NIN_PRICE: '0',
        TABBAT_DOJAH_BVN_PRICE: '0',
        TABBAT_DOJAH_PRICE: '5',
      },
    ],
  ] as Record<string, string>[][])('without a price stops nothing: %j', (given) => {
    expect(problemsOf(given ?? {})).toEqual([
      'TABBAT_DOJAH_DAILY_CAP needs TABBAT_DOJAH_PRICE: without a price, no spend is counted and no call is stopped',
    ])
  })

  it('below a price stops every call, and is refused', () => {
    const cap = { TABBAT_DOJAH_DAILY_CAP: '100' }
    expect(problemsOf({ ...cap, TABBAT_DOJAH_PRICE: '100' })).toEqual([])
    expect(problemsOf({ ...cap, TABBAT_DOJAH_PRICE: '100.01' })).toEqual([
      'TABBAT_DOJAH_DAILY_CAP is below TABBAT_DOJAH_PRICE: no call would be made',
    ])
    expect(problemsOf({ ...cap, TABBAT_DOJAH_PRICE: '5', TABBAT_DOJAH_BVN_PRICE: '101' })).toEqual([
      'TABBAT_DOJAH_DAILY_CAP is below TABBAT_DOJAH_BVN_PRICE: no call would be made',
    ])
    // With a price for each operation, the common one is not used.
    const each = { TABBAT_DOJAH_NIN_PRICE: '5', TABBAT_DOJAH_BVN_PRICE: '5', TABBAT_DOJAH_PRICE: '101' }
    expect(problemsOf({ ...cap, ...each })).toEqual([])
  })
})

describe('the address of a vendor', () => {
  const problemsOf = (url: string, allowed = {}) =>
    read({ ...GIVEN, TABBAT_DOJAH_URL: url }, [], { ...NOTHING, ...allowed }).problems

  it.each(['https://api.example.com', 'http://127.0.0.1:9000', 'http://localhost:9000', 'http://[::1]:9000'])(
    'may be %s',
    (url) => expect(problemsOf(url)).toEqual([]),
  )

  it('must be https, unless the operator allows plain http', () => {
    const url = 'http://api.example.com'
    expect(problemsOf(url)).toEqual([
      'TABBAT_DOJAH_URL must begin with https://, or set TABBAT_SOURCES_PLAIN_HTTP=on',
    ])
    expect(problemsOf(url, { sourcesPrivate: 'on' })).toHaveLength(1)
    expect(problemsOf(url, { sourcesPlainHttp: 'on' })).toEqual([])
  })

  it('must not be private, unless the operator allows that', () => {
    const url = 'https://10.1.2.3'
    expect(problemsOf(url)).toEqual([
      'TABBAT_DOJAH_URL is a private address: set TABBAT_SOURCES_PRIVATE=on if that is intended',
    ])
    expect(problemsOf(url, { sourcesPlainHttp: 'on' })).toHaveLength(1)
    expect(problemsOf(url, { sourcesPrivate: 'on' })).toEqual([])
    expect(problemsOf('http://10.1.2.3', { sourcesPlainHttp: 'on', sourcesPrivate: 'on' })).toEqual([])
  })

  it('with plain http is listed, but for this machine', () => {
    const allowed = { sourcesPrivate: 'on', sourcesPlainHttp: 'on' } as const
    const list = (url: string) =>
      listPlainHttp(read({ ...GIVEN, TABBAT_DOJAH_URL: url }, [], allowed).vendors)
    expect(list('http://api.example.com')).toEqual(['dojah'])
    expect(list('http://127.0.0.1')).toEqual([])
    expect(list('https://api.example.com')).toEqual([])
  })
})
