import { describe, expect, it } from 'vitest'
import { findStep, toBase32, toCode, toSetupUrl, toStep } from '../../src/accounts/totp.ts'

/** The secrets of RFC 6238, appendix B: as long as the hash. */
const SECRETS = {
  sha1: Buffer.from('12345678901234567890'),
  sha256: Buffer.from('12345678901234567890123456789012'),
  sha512: Buffer.from('1234567890123456789012345678901234567890123456789012345678901234'),
}

const toPair = (code: number, counter: number): [number, number] => [counter, code]

describe('a one-time password', () => {
  it.each([
    [59, '94287082', '46119246', '90693936'],
    [1_111_111_109, '07081804', '68084774', '25091201'],
    [1_111_111_111, '14050471', '67062674', '99943326'],
    [1_234_567_890, '89005924', '91819424', '93441116'],
    [2_000_000_000, '69279037', '90698825', '38618901'],
    [20_000_000_000, '65353130', '77737706', '47863826'],
  ])('at %d s is that of RFC 6238', (seconds, sha1, sha256, sha512) => {
    const step = toStep(seconds * 1000)
    const toText = (hash: keyof typeof SECRETS) => toCode(SECRETS[hash], step, { digits: 8, hash })
    expect([toText('sha1'), toText('sha256'), toText('sha512')]).toEqual([sha1, sha256, sha512])
  })

  it.each([755224, 287082, 359152, 969429, 338314, 254676, 287922, 162583, 399871, 520489].map(toPair))(
    'of counter %d is that of RFC 4226',
    (counter, code) => {
      expect(toCode(SECRETS.sha1, counter)).toBe(String(code))
    },
  )
})

describe('a code', () => {
  const NOW = 1_790_000_010_000
  const step = toStep(NOW)
  const find = (code: string, lastStep = 0) => findStep(SECRETS.sha1, code, NOW, lastStep)
  const codeOf = (delta: number) => toCode(SECRETS.sha1, step + delta)

  it('of the present step and of its neighbours is found', () => {
    expect([-2, -1, 0, 1, 2].map((delta) => find(codeOf(delta)))).toEqual([
      undefined,
      step - 1,
      step,
      step + 1,
      undefined,
    ])
  })

  it('of a step that was used, or of one before it, is not', () => {
    expect([-1, 0, 1].map((delta) => find(codeOf(delta), step))).toEqual([undefined, undefined, step + 1])
  })

  it.each(['', '12345', '1234567', 'abcdef', '12 456', '١٢٣٤٥٦'])('%j is none', (code) => {
    expect(find(code)).toBeUndefined()
  })
})

it.each([
  ['', ''],
  ['f', 'MY'],
  ['fo', 'MZXQ'],
  ['foo', 'MZXW6'],
  ['foob', 'MZXW6YQ'],
  ['fooba', 'MZXW6YTB'],
  ['foobar', 'MZXW6YTBOI'],
  ['12345678901234567890', 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'],
])('base32 of %j is that of RFC 4648', (text, encoded) => {
  expect(toBase32(Buffer.from(text))).toBe(encoded)
})

it('the URL for authenticator apps names the account, the host and the parameters', () => {
  expect(toSetupUrl('ABC', 'ada', 'localhost:8081')).toBe(
    'otpauth://totp/Tabbat:ada%40localhost%3A8081?secret=ABC&issuer=Tabbat&algorithm=SHA1&digits=6&period=30',
  )
})
