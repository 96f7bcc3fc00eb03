import { type Kind, toBlindIndexText } from '../crypto/blind-index.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { UnnamedAnswer } from '../store/erase-rows.ts'
import type { ErasureTable } from '../store/erasure-table.ts'
import { openStoredResponse } from '../verification/idempotency.ts'

type ListUnnamed = ErasureTable['listUnnamed']

const ANSWERS_AT_ONCE = 500

/**
 * Stored responses of version 0.1, and about virtual NINs whose source returned no NIN, have no subject. They live for 24 hours,
 * and are decrypted to find it. `isWanted` takes the keyed hash of the number in the response, in hex. A response that cannot be
 * decrypted cannot be replayed either, and may be about anyone: it counts as wanted.
 */
export async function findUnnamed(
  list: ListUnnamed,
  keyring: Keyring,
  kind: Kind,
  isWanted: (subject: string) => boolean,
): Promise<(UnnamedAnswer & { readonly subject: string | undefined })[]> {
  const found: (UnnamedAnswer & { readonly subject: string | undefined })[] = []
  const operation = `verify_${kind}`
  let after: UnnamedAnswer = { operation, keyId: '', name: new Uint8Array(0) }
  for (;;) {
    const answers = await list(after, ANSWERS_AT_ONCE)
    const last = answers.at(-1)
    if (!last) return found
    for (const { keyId, name, sealed } of answers) {
      const subject = readSubject(keyring, kind, name, sealed)
      if (subject === 'none' || (subject !== undefined && !isWanted(subject))) continue
      found.push({ operation, keyId, name, subject })
    }
    after = { operation, keyId: last.keyId, name: last.name }
  }
}

/** `none`: the response is about no person. Undefined: it cannot be decrypted. */
function readSubject(
  keyring: Keyring,
  kind: Kind,
  name: Uint8Array,
  sealed: Uint8Array,
): string | 'none' | undefined {
  try {
    const { body, outcome } = openStoredResponse(keyring, name, sealed)
    if (outcome !== 'verified') return 'none'
    return toBlindIndexText(keyring.subject, kind, String(JSON.parse(body).data[`${kind}_number`]))
  } catch {
    return undefined
  }
}
