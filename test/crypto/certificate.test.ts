import { createPrivateKey } from 'node:crypto'
import { chmodSync, rmSync } from 'node:fs'
import { expect, it } from 'vitest'
import { InvalidCertificate, readCertificate } from '../../src/crypto/certificate.ts'
import { createCertificate, type TestCertificate, writeCertificate } from '../certificate.ts'

const DAY_MS = 86_400_000
const pair = createCertificate()

function problemOf(written: Partial<TestCertificate>, change: (path: string) => void = () => {}) {
  const { TABBAT_TLS_CERT, TABBAT_TLS_KEY } = writeCertificate({ ...pair, ...written })
  change(TABBAT_TLS_KEY)
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
  const until = Math.floor(Date.now() / 1000) * 1000 + 10 * DAY_MS
  const chain = pair.cert + createCertificate({ until }).cert
  const { TABBAT_TLS_CERT, TABBAT_TLS_KEY } = writeCertificate({ ...pair, cert: chain })
  expect(readCertificate(TABBAT_TLS_CERT, TABBAT_TLS_KEY)).toMatchObject({ cert: chain, notAfter: until })
})

it.each([
  ['a key of another certificate', { key: createCertificate().key }, /^mismatch: .*does not belong/],
  ['half a certificate', { cert: pair.cert.slice(0, 200) }, /^invalid: TABBAT_TLS_CERT must name/],
  [
    'a chain that is cut off',
    { cert: pair.cert + pair.cert.slice(0, 200) },
    /^invalid: TABBAT_TLS_CERT must name/,
  ],
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
  expect(problemOf({}, (path) => rmSync(path))).toMatch(/^unreadable: The file of TABBAT_TLS_KEY .*ENOENT/)
  expect(problemOf({})).toBe('none')
})

it.runIf(process.getuid !== undefined)('is refused when every user can change the key', () => {
  expect(problemOf({}, (path) => chmodSync(path, 0o606))).toMatch(/^exposed: .*chmod 640/)
})
