import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A self-signed certificate (RFC 5280) with its private key. */
export type TestCertificate = {
  readonly cert: string
  readonly key: string
  /** Of the whole certificate, as `openssl x509 -fingerprint -sha256` computes it. */
  readonly sha256: string
}

const DAY_MS = 86_400_000

type Options = {
  readonly name?: string
  readonly from?: number
  readonly until?: number
  /** `weak`: refused by TLS 1.2 and later. */
  readonly kind?: 'ec' | 'rsa' | 'weak'
}

export function createCertificate({
  name = 'localhost',
  from = Date.now() - DAY_MS,
  until = Date.now() + 365 * DAY_MS,
  kind = 'ec',
}: Options = {}): TestCertificate {
  const { publicKey, privateKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
      : generateKeyPairSync('rsa', { modulusLength: kind === 'weak' ? 1024 : 2048 })
  const algorithm = kind === 'ec' ? ECDSA_SHA256 : RSA_SHA256
  const body = toBody({ publicKey, algorithm, name, from, until })
  const signature = sign('sha256', body, privateKey)
  const der = sequence(body, algorithm, bitString(signature))
  return {
    cert: toPem(der),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    sha256: createHash('sha256').update(der).digest('hex'),
  }
}

/** The files of TABBAT_TLS_CERT and TABBAT_TLS_KEY in a new folder. */
export function writeCertificate({ cert, key }: TestCertificate, folder = newFolder()) {
  const settings = {
    TABBAT_TLS_CERT: join(folder, 'tls.crt'),
    TABBAT_TLS_KEY: join(folder, 'tls.key'),
  }
  writeFileSync(settings.TABBAT_TLS_CERT, cert)
  writeFileSync(settings.TABBAT_TLS_KEY, key, { mode: 0o600 })
  return settings
}

const newFolder = () => mkdtempSync(join(tmpdir(), 'tabbat-tls-'))

type Body = Required<Pick<Options, 'name' | 'from' | 'until'>> & {
  readonly publicKey: KeyObject
  readonly algorithm: Buffer
}

function toBody({ publicKey, algorithm, name, from, until }: Body): Buffer {
  const issuer = sequence(tagged(0x31, sequence(oid('550403'), tagged(0x0c, Buffer.from(name)))))
  const names = sequence(tagged(0x82, Buffer.from(name)), tagged(0x87, Buffer.from([127, 0, 0, 1])))
  const extensions = sequence(sequence(oid('551d11'), tagged(0x04, names)))
  return sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    issuer,
    sequence(time(from), time(until)),
    issuer,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, extensions),
  )
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content])
  const bytes = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...bytes]), content])
}

const sequence = (...parts: readonly Buffer[]) => tagged(0x30, Buffer.concat(parts))
const oid = (hex: string) => tagged(0x06, Buffer.from(hex, 'hex'))
const bitString = (bytes: Buffer) => tagged(0x03, Buffer.concat([Buffer.from([0]), bytes]))
/** GeneralizedTime, to the second. */
const time = (at: number) =>
  tagged(0x18, Buffer.from(`${new Date(at).toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`))

const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'))
const RSA_SHA256 = sequence(oid('2a864886f70d01010b'), tagged(0x05, Buffer.alloc(0)))

const toPem = (der: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
