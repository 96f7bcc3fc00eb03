import { createCipheriv, createDecipheriv, type KeyObject, randomFillSync } from 'node:crypto'

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Nonces are generated in bulk: one system call for many seals. */
const pool = Buffer.alloc(NONCE_BYTES * 512)
let used = pool.length

/** How much longer a sealed value is. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES

/**
 * AES-256-GCM: nonce, ciphertext, tag. The associated data (table, record id, key version) is not in the result but must be
 * equal to open it, so a sealed value cannot be moved to another row.
 */
export function seal(key: KeyObject, plain: Uint8Array, associatedData: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafe(plain.length + SEAL_BYTES)
  writeSeal(sealed, 0, key, plain, associatedData)
  return sealed
}

/** The same, written to the target at this place. */
export function writeSeal(
  target: Uint8Array,
  at: number,
  key: KeyObject,
  plain: Uint8Array,
  associatedData: Uint8Array,
): void {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const nonce = pool.subarray(used, used + NONCE_BYTES)
  used += NONCE_BYTES
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(associatedData)
  target.set(nonce, at)
  target.set(cipher.update(plain), at + NONCE_BYTES)
  cipher.final()
  target.set(cipher.getAuthTag(), at + NONCE_BYTES + plain.length)
}

/** A sealed value cannot be opened: it was changed or belongs to another row. The database is damaged. */
export class BrokenSeal extends Error {
  readonly code = 'BROKEN_SEAL'

  constructor(options?: ErrorOptions) {
    super('a sealed value cannot be opened', options)
    this.name = 'BrokenSeal'
  }
}

/** Throws BrokenSeal when the key is wrong, the value was changed, or it belongs to another row. */
export function unseal(key: KeyObject, sealed: Uint8Array, associatedData: Uint8Array): Buffer {
  try {
    return open(key, sealed, associatedData)
  } catch (cause) {
    throw new BrokenSeal({ cause })
  }
}

function open(key: KeyObject, sealed: Uint8Array, associatedData: Uint8Array): Buffer {
  const end = sealed.length - TAG_BYTES
  // With the length of the tag: a value of a few bytes would be opened with a tag of a few bytes, which can be guessed.
  const options = { authTagLength: TAG_BYTES }
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES), options)
  decipher.setAAD(associatedData)
  decipher.setAuthTag(sealed.subarray(end))
  const plain = decipher.update(sealed.subarray(NONCE_BYTES, end))
  decipher.final()
  return plain
}

/** The associated data of a sealed value. */
export const toAssociatedData = (table: string, id: Uint8Array, keyVersion: number): Buffer =>
  Buffer.concat([Buffer.from(`${table}:${keyVersion}:`), id])
