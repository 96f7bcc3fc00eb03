import { createPrivateKey, X509Certificate } from 'node:crypto'
import { DAY_MS } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import { readFileUpTo, readSecretFile } from './secret-file.ts'
import { UntrustedPath } from './trusted-path.ts'

/** The certificate of the listeners, with its chain, and its private key. */
export type Certificate = {
  /** PEM. */
  readonly cert: string
  readonly key: string
  /** Unix time in ms. The chain ends when its first certificate does. */
  readonly notBefore: number
  readonly notAfter: number
}

type Problem = 'unreadable' | 'exposed' | 'invalid' | 'mismatch'

/** The files hold no usable pair. The problem is one word for the log, the message a sentence for the operator. */
export class InvalidCertificate extends UserError {
  override readonly name = 'InvalidCertificate'
  readonly problem: Problem

  constructor(problem: Problem, message: string) {
    super(message)
    this.problem = problem
  }
}

const MAX_CERTIFICATE_BYTES = 1024 * 1024

/** Reads and checks both files. A file that is being replaced is invalid, or does not fit the other one. */
export function readCertificate(certPath: string, keyPath: string): Certificate {
  const cert = read('TABBAT_TLS_CERT', () => readFileUpTo(certPath, MAX_CERTIFICATE_BYTES).toString())
  const key = read('TABBAT_TLS_KEY', () => readSecretFile(keyPath, 'mounted'))
  const chain = parseChain(cert)
  const [leaf] = chain
  const privateKey = attempt(
    () => createPrivateKey(key),
    'TABBAT_TLS_KEY must name a file with a private key in PEM format, without a passphrase.',
  )
  if (!leaf?.checkPrivateKey(privateKey))
    throw new InvalidCertificate(
      'mismatch',
      'The private key of TABBAT_TLS_KEY does not belong to the first certificate of TABBAT_TLS_CERT. Set both to files of one certificate.',
    )
  attempt(
    () => process.getBuiltinModule('node:tls').createSecureContext({ cert, key, minVersion: 'TLSv1.2' }),
    'The certificate of TABBAT_TLS_CERT cannot be used for TLS 1.2 or later. Use an RSA key of at least 2048 bits or an EC key.',
  )
  return {
    cert,
    key,
    notBefore: leaf.validFromDate.getTime(),
    notAfter: Math.min(...chain.map(({ validToDate }) => validToDate.getTime())),
  }
}

/** A certificate for 90 days is renewed 30 days before its end, so that a renewal has failed by then. */
const NEAR_END_MS = 14 * DAY_MS

/** In the last 14 days or, of a certificate for a few days, in the last quarter. */
export const isCloseToEnd = ({ notBefore, notAfter }: Certificate, now: number) =>
  notAfter - now <= Math.min(NEAR_END_MS, (notAfter - notBefore) / 4)

function read(setting: string, work: () => string): string {
  try {
    return work()
  } catch (error) {
    if (error instanceof UntrustedPath) throw new InvalidCertificate('exposed', error.message)
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new InvalidCertificate(
      'unreadable',
      `The file of ${setting} cannot be read (${code}). Check the path and its permissions.`,
    )
  }
}

const BEGIN = '-----BEGIN CERTIFICATE-----'

function parseChain(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const message =
    'TABBAT_TLS_CERT must name a file in PEM format: the certificate, then its intermediate certificates.'
  // A block without an end was cut off.
  if (blocks.length === 0 || blocks.length !== pem.split(BEGIN).length - 1)
    throw new InvalidCertificate('invalid', message)
  return attempt(() => blocks.map((block) => new X509Certificate(block)), message)
}

function attempt<T>(work: () => T, message: string): T {
  try {
    return work()
  } catch {
    throw new InvalidCertificate('invalid', message)
  }
}
