import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Keyring } from '../crypto/keyring.ts'
import { type Kind, toBlindIndexText } from '../crypto/mac.ts'
import { openStoredResponse } from '../verification/idempotency.ts'
import type { UnnamedAnswer } from './erase-rows.ts'
import type { ErasureTable } from './erasure-table.ts'

type ListUnnamed = ErasureTable['listUnnamed']

/** Answers that are decrypted before other work has a turn. */
const ANSWERS_PER_TURN = 20

type FoundAnswer = UnnamedAnswer & { readonly subject: string | undefined }

/**
 * Stored responses about virtual NINs whose source returned no NIN have no subject. They live for 24 hours,
 * and are decrypted to find it. `isWanted` takes the keyed hash of the number in the response, in hex. A response that cannot be
 * decrypted cannot be replayed either, and may be about anyone: it counts as wanted. There may be many: requests are answered
 * meanwhile.
 */
export async function findUnnamed(
  list: ListUnnamed,
  keyring: Keyring,
  kind: Kind,
  isWanted: (subject: string) => boolean,
): Promise<FoundAnswer[]> {
  const found: FoundAnswer[] = []
  const operation = `verify_${kind}`
  for (let from: number | undefined = 0; from !== undefined; ) {
    const part: Awaited<ReturnType<ListUnnamed>> = await list(operation, from)
    for (const [index, { keyId, name, sealed }] of part.answers.entries()) {
      if (index % ANSWERS_PER_TURN === ANSWERS_PER_TURN - 1) await nextTurn()
      const subject = readSubject(keyring, kind, name, sealed)
      if (subject === 'none' || (subject !== undefined && !isWanted(subject))) continue
      found.push({ operation, keyId, name, subject })
    }
    await nextTurn()
    from = part.next
  }
  return found
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
