import { createHmac, hkdfSync } from 'node:crypto'

/**
 * The keyed hashes by which tables know a person: the audit log, stored answers, the queue and batches (`subject`), the operator's
 * own records and their pictures (`record`), and results for reuse (`reused`).
 */
export type KeyedHashes = Readonly<Record<'subject' | 'record' | 'reused', (number: string) => string>>

/**
 * HMAC-SHA-256 of kind and number, in hex, under a key that HKDF-SHA-256 makes of the root key. Written here anew, so that the
 * checks have no code in common with the product. A rotation of the root key keeps these keys.
 */
export function createKeyedHashes(rootKey: string): KeyedHashes {
  const root = Buffer.from(rootKey.trim(), 'base64')
  const create = (label: string) => {
    const key = Buffer.from(hkdfSync('sha256', root, '', `tabbat/v1/${label}`, 32))
    return (number: string) => createHmac('sha256', key).update(`nin:${number}`).digest('hex')
  }
  return { subject: create('subject'), record: create('blind-index'), reused: create('reuse-index') }
}
