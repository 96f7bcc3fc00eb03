import type { Keyring } from '../crypto/keyring.ts'
import { createMacWriter, type Kind, MAC_BYTES, toBlindIndex, toMac } from '../crypto/mac.ts'
import { BrokenSeal, seal, toAssociatedData, unseal, writeSeal } from '../crypto/seal.ts'
import { decodeEntry, type Entry, encodeEntry } from './record-codec.ts'

/** A row was sealed under a root key that this process does not hold: the key may have been rotated meanwhile. */
export class UnknownKeyVersion extends Error {
  constructor(version: number) {
    super(`sealed under version ${version} of the root key`)
    this.name = 'UnknownKeyVersion'
  }
}

export const toSubject = (keyring: Keyring, kind: Kind, number: string): Buffer =>
  toBlindIndex(keyring['blind-index'], kind, number)

/** `pictureDigest` is part of the digest, so that a new picture changes the record. */
export function sealEntry<K extends Kind>(
  keyring: Keyring,
  kind: K,
  number: string,
  entry: Entry<K>,
  pictureDigest = '',
): SealedRecord {
  // The id of a picture is new each time, so it is not part of the digest.
  const content = encodeEntry(kind, { ...entry, mediaId: null })
  const plain = entry.mediaId === null ? content : encodeEntry(kind, entry)
  const subject = toSubject(keyring, kind, number)
  const digest = toMac(keyring.digest, subject, content, Buffer.from(pictureDigest))
  const sealed = seal(sealingKey(keyring), plain, toAssociatedData('registry', subject, keyring.version))
  return { kind, subject, keyVersion: keyring.version, digest, sealed }
}

/** Writes subject, digest and sealed value of an entry without a picture, whose content is encoded already. */
type EntryWriter = (target: Buffer, at: number, number: Uint8Array, content: Uint8Array) => void

/** The same as `sealEntry` for many entries, without an object or a buffer for each part. The number has eleven digits. */
export function createEntryWriter(keyring: Keyring, kind: Kind): EntryWriter {
  const key = sealingKey(keyring)
  const subjectMac = createMacWriter(keyring['blind-index'], `${kind}:`)
  const digestMac = createMacWriter(keyring.digest)
  const associatedData = toAssociatedData('registry', Buffer.alloc(MAC_BYTES), keyring.version)
  const subjectAt = associatedData.length - MAC_BYTES
  return (target, at, number, content) => {
    subjectMac.put(number, 0, number.length)
    subjectMac.write(target, at)
    digestMac.put(target, at, at + MAC_BYTES)
    digestMac.put(content, 0, content.length)
    digestMac.write(target, at + MAC_BYTES)
    for (let index = 0; index < MAC_BYTES; index++)
      associatedData[subjectAt + index] = target[at + index] as number
    writeSeal(target, at + 2 * MAC_BYTES, key, content, associatedData)
  }
}

export function unsealEntry<K extends Kind>(
  keyring: Keyring,
  kind: K,
  subject: Uint8Array,
  { keyVersion, sealed }: Pick<SealedRecord, 'keyVersion' | 'sealed'>,
): Entry<K> {
  const plain = unseal(
    sealingKey(keyring, keyVersion),
    sealed,
    toAssociatedData('registry', subject, keyVersion),
  )
  try {
    return decodeEntry(kind, plain)
  } catch (cause) {
    throw new BrokenSeal({ cause })
  }
}

/** Pictures are sealed separately, so that a verification does not load a megabyte. */
export function sealMedia(
  keyring: Keyring,
  id: Uint8Array,
  subject: Uint8Array,
  bytes: Uint8Array,
): SealedMedia {
  const sealed = seal(sealingKey(keyring), bytes, toAssociatedData('media', id, keyring.version))
  return { id, subject, keyVersion: keyring.version, sealed }
}

export const unsealMedia = (
  keyring: Keyring,
  id: Uint8Array,
  media: Pick<SealedMedia, 'keyVersion' | 'sealed'>,
): Buffer =>
  unseal(sealingKey(keyring, media.keyVersion), media.sealed, toAssociatedData('media', id, media.keyVersion))

function sealingKey(keyring: Keyring, version = keyring.version) {
  const key = keyring.sealing(version)
  if (!key) throw new UnknownKeyVersion(version)
  return key
}

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
