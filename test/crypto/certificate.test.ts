import { createPrivateKey } from 'node:crypto'
import { chmodSync, rmSync } from 'node:fs'
import { expect, it } from 'vitest'
import { InvalidCertificate, isCloseToEnd, readCertificate } from '../../src/crypto/certificate.ts'
import { createCertificate, type TestCertificate, writeCertificate } from '../certificate.ts'

const DAY_MS = 86_400_000
const pair = createCertificate()

type Files = ReturnType<typeof writeCertificate>

function problemOf(written: Partial<TestCertificate>, change: (files: Files) => void = () => {}) {
  const files = writeCertificate({ ...pair, ...written })
  change(files)
  const { TABBAT_TLS_CERT, TABBAT_TLS_KEY } = files
  try {
    readCertificate(TABBAT_TLS_CERT, TABBAT_TLS_KEY)
    return 'none'
  } catch (error) {
    if (!(error instanceof InvalidCertificate)) throw error
    expect(error.message).not.toContain(pair.key.slice(30, 60))
    return `${error.problem}: ${error.message}`
  }
}

it('is read with its chain, which ends when its first certificate does', () => {
  const from = Math.floor(Date.now() / 1000) * 1000 - DAY_MS
  const until = from + 10 * DAY_MS
  const leaf = createCertificate({ from, until: until + DAY_MS })
  const chain = leaf.cert + createCertificate({ from: from - DAY_MS, until }).cert
  const { TABBAT_TLS_CERT, TABBAT_TLS_KEY } = writeCertificate({ ...leaf, cert: chain })
  expect(readCertificate(TABBAT_TLS_CERT, TABBAT_TLS_KEY)).toEqual({
    cert: chain,
    key: leaf.key,
    notBefore: from,
    notAfter: until,
  })
})

it.each([
  ['a key of another certificate', { key: createCertificate().key }, /^mismatch: .*does not belong/],
  ['half a certificate', { cert: pair.cert.slice(0, 200) }, /^invalid: TABBAT_TLS_CERT must name/],
  [
    'a chain that is cut off',
    { cert: pair.cert + pair.cert.slice(0, 200) },
    /^invalid: TABBAT_TLS_CERT must name/,
  ],
  [
    'a block that is no certificate',
    { cert: pair.cert.replace(/M[^-]+/, 'AAAA\n') },
    /^invalid: TABBAT_TLS_CERT/,
  ],
  ['a key that is too weak', createCertificate({ kind: 'weak' }), /^invalid: .*at least 2048 bits/],
  ['an empty file', { cert: '' }, /^invalid: TABBAT_TLS_CERT must name/],
  ['half a key', { key: pair.key.slice(0, 80) }, /^invalid: TABBAT_TLS_KEY must name/],
  [
    'a key with a passphrase',
    {
      key: createPrivateKey(pair.key)
        .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
        .toString(),
    },
    /^invalid: .*without a passphrase/,
  ],
])('%s is refused', (_what, written, problem) => expect(problemOf(written)).toMatch(problem))

it('is refused when a file is missing', () => {
  expect(problemOf({}, ({ TABBAT_TLS_KEY }) => rmSync(TABBAT_TLS_KEY))).toMatch(
    /^unreadable: The file of TABBAT_TLS_KEY .*ENOENT/,
  )
  expect(problemOf({}, ({ TABBAT_TLS_CERT }) => rmSync(TABBAT_TLS_CERT))).toMatch(
    /^unreadable: The file of TABBAT_TLS_CERT .*ENOENT/,
  )
  expect(problemOf({})).toBe('none')
})

it.runIf(process.getuid !== undefined)('is refused when every user can change the key', () => {
  expect(problemOf({}, ({ TABBAT_TLS_KEY }) => chmodSync(TABBAT_TLS_KEY, 0o606))).toMatch(
    /^exposed: .*chmod 640/,
  )
})

it.each([
  ['90 days', 90, 14],
  ['56 days', 56, 14],
  ['8 days', 8, 2],
])('of %s is close to its end in the last 14 days or the last quarter', (_name, days, lastDays) => {
  const certificate = { ...pair, notBefore: 0, notAfter: days * DAY_MS }
  const begins = (days - lastDays) * DAY_MS
  expect([begins - 1, begins, days * DAY_MS + 1].map((now) => isCloseToEnd(certificate, now))).toEqual([
    false,
    true,
    true,
  ])
})
