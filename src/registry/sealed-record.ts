import type { Kind } from '../crypto/mac.ts'

/** A sealed record of the registry. */
export type SealedRecord = {
  /** A decoy belongs to no person. It is unsealed when no record was found, so that both cases take equally long. */
  readonly kind: Kind | 'decoy'
  readonly subject: Uint8Array
  readonly keyVersion: number
  /** Keyed hash of the content: the same content again changes nothing. */
  readonly digest: Uint8Array
  readonly sealed: Uint8Array
}

export type SealedMedia = {
  readonly id: Uint8Array
  readonly subject: Uint8Array
  readonly keyVersion: number
  readonly sealed: Uint8Array
}
