import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { UserError } from '../errors.ts'

/** What a checkpoint states about a chain: its last row, and the Merkle root over the rows after `from`. */
export type SignedHead = {
  readonly chain: string
  readonly sequence: number
  readonly hash: string
  readonly from: number
  readonly root: string
}

type OpenedCheckpoint =
  | { readonly heads: readonly SignedHead[] }
  /** Why it is not accepted, to be read after "the checkpoint of …". */
  | { readonly wrong: string }

/** Checks the signature and returns the content. */
export function openCheckpoint(
  { time, body, signature }: Readonly<Record<'time' | 'body' | 'signature', unknown>>,
  publicKey: KeyObject,
): OpenedCheckpoint {
  if (typeof body !== 'string' || !isSigned(body, signature, publicKey))
    return { wrong: 'has no valid signature: it was changed, forged, or signed with another key' }
  const statement = parseStatement(body)
  if (!statement) return { wrong: 'is signed, but has a format that this version cannot read' }
  if (statement.time !== time) return { wrong: 'is stored under another time than the signed one' }
  return { heads: statement.heads }
}

/** Accepts only the canonical base64 of a signature. */
export function isSigned(body: string, signature: unknown, publicKey: KeyObject): boolean {
  if (typeof signature !== 'string') return false
  const bytes = Buffer.from(signature, 'base64')
  return bytes.toString('base64') === signature && verify(null, Buffer.from(body), publicKey, bytes)
}

function parseStatement(body: string): { time: unknown; heads: readonly SignedHead[] } | undefined {
  try {
    const { version, time, heads } = JSON.parse(body) as Readonly<Record<string, unknown>>
    if (version !== 1 || !Array.isArray(heads) || !heads.every(isHead)) return undefined
    return { time, heads }
  } catch {
    return undefined
  }
}

function isHead(value: unknown): value is SignedHead {
  const { chain, sequence, hash, from, root } = value as Readonly<Record<string, unknown>>
  if (typeof chain !== 'string' || !isHash(hash) || !isHash(root)) return false
  return isCount(sequence) && isCount(from) && from < sequence
}

export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

export const isHash = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)

/** A public key as `tabbat audit public-key` prints it. */
export function toPublicKey(pem: string, where: string): KeyObject {
  const refusal = new UserError(
    `${where} is not the public key of an audit log. Print it with: tabbat audit public-key`,
  )
  if (!pem.includes('-----BEGIN PUBLIC KEY-----')) throw refusal
  try {
    const key = createPublicKey(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // Reported below.
  }
  throw refusal
}

export const isSameHead = (one: SignedHead | undefined, other: SignedHead) =>
  one !== undefined &&
  one.sequence === other.sequence &&
  one.hash === other.hash &&
  one.from === other.from &&
  one.root === other.root
