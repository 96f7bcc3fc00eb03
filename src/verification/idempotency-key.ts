import type { KeyObject } from 'node:crypto'
import { toTextMac } from '../crypto/mac.ts'
import { AppError } from '../errors.ts'

/** One use of an Idempotency-Key. */
export type KeyUse = {
  /** The lineage of the API key: a rolled key shares the Idempotency-Keys of its predecessor. */
  readonly keyId: string
  readonly operation: string
  /** Of the verification, told to requests that come while it runs. */
  readonly reference: string
  readonly header: string
  /** The inputs. The same header with other inputs is refused. */
  readonly request: readonly string[]
  /** Keyed hash of the person's number, in hex. */
  readonly subject: string
  /** About a virtual NIN: the person may be known by another number in the response. */
  readonly isVirtual?: boolean
}

const WELL_FORMED = /^[\x21-\x7e]{1,255}$/

/** The header and the inputs are stored as keyed hashes only. */
export function hashKeyUse(
  key: KeyObject,
  { operation, header, request }: Pick<KeyUse, 'operation' | 'header' | 'request'>,
) {
  if (!WELL_FORMED.test(header))
    throw new AppError('validation_failed', {
      errors: { 'Idempotency-Key': ['Idempotency-Key must be 1 to 255 visible ASCII characters'] },
    })
  return {
    name: toHash(key, ['name', header]),
    fingerprint: toHash(key, ['request', operation, ...request]),
  }
}

const toHash = (key: KeyObject, parts: readonly string[]) =>
  Buffer.from(toTextMac(key, JSON.stringify(parts)), 'hex')
