import type { Kind } from '../crypto/blind-index.ts'

/** A sealed record as it lies in the registry. */
export type SealedRecord = {
  /** Decoys are nobody's records: they are opened when nobody was found, so that this takes as long. */
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
