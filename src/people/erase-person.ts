import type { AuditEntry } from '../audit/row.ts'
import { steadyNow } from '../contract/time.ts'
import { type Kind, toBlindIndex } from '../crypto/blind-index.ts'
import type { Erased, ErasureSubject, UnnamedAnswer } from '../store/erasure-table.ts'
import type { EndedQueued } from '../store/queue-erasure.ts'
import type { SealedStore } from '../store/sealed-store.ts'
import { openStoredResponse } from '../verification/idempotency.ts'

type EraseDeps = Pick<SealedStore, 'store' | 'keyring'> & {
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
}

/**
 * Deletes everything that is stored about one number: the record, the picture, responses under Idempotency-Keys, results for
 * reuse, and questions and answers in the queue. The audit row comes first, and contains no number. The guess limit and the
 * audit log stay: they hold keyed hashes only, and deleting them would reset the limits.
 */
export async function erasePerson(deps: EraseDeps, kind: Kind, number: string): Promise<Erased> {
  const { store, keyring, audit } = deps
  const subject = await toErasureSubject(deps, kind, number)
  const found = await store.erasure.count(subject)
  const subjectHash = toBlindIndex(keyring.subject, kind, number).toString('hex')
  await audit.record([
    {
      phase: 'record_erased',
      subject: subjectHash,
      outcome: isAnything(found) ? 'erased' : 'not_found',
      detail: toDetail(kind, found),
    },
  ])
  const { ended, ...erased } = await store.erasure.erase(subject, steadyNow())
  if (ended.length > 0) await audit.record(ended.map((each) => toEnd(each, subjectHash)))
  const late = await store.erasure.eraseKept(subject.keptAnswers)
  return { ...erased, keptAnswers: erased.keptAnswers + late }
}

/** A verification that was waiting ends here. */
const toEnd = ({ reference, keyId, mode, operation }: EndedQueued, subject: string): AuditEntry => ({
  phase: 'outcome',
  request_reference: reference,
  key_id: keyId,
  mode,
  operation,
  subject,
  outcome: 'cancelled',
  detail: 'erased',
})

export const isAnything = (erased: Erased) => Object.values(erased).some((rows) => rows > 0)

/** For the operator: "1 record, 2 kept answers". */
export function listErased({ records, pictures, keptAnswers, reusedResults, queued }: Erased): string {
  const named: readonly (readonly [number, string])[] = [
    [records, 'record'],
    [pictures, 'picture'],
    [keptAnswers, 'kept answer'],
    [reusedResults, 'reused result'],
    [queued, 'queued verification'],
  ]
  return named
    .flatMap(([rows, name]) => (rows > 0 ? [`${rows} ${name}${rows > 1 ? 's' : ''}`] : []))
    .join(', ')
}

const toDetail = (kind: Kind, found: Erased) => (isAnything(found) ? `${kind}: ${listErased(found)}` : kind)

async function toErasureSubject(deps: EraseDeps, kind: Kind, number: string): Promise<ErasureSubject> {
  const { keyring } = deps
  return {
    record: toBlindIndex(keyring['blind-index'], kind, number),
    reusedResult: toBlindIndex(keyring['reuse-index'], kind, number),
    keptAnswers: toBlindIndex(keyring.subject, kind, number),
    unnamed: await findUnnamed(deps, kind, number),
  }
}

const ANSWERS_AT_ONCE = 500

/**
 * Stored responses of version 0.1 and about virtual NINs have no subject. They live for 24 hours, and are decrypted to find
 * their subject: the source may have returned the NIN behind a virtual NIN.
 */
async function findUnnamed(
  { store, keyring }: EraseDeps,
  kind: Kind,
  number: string,
): Promise<UnnamedAnswer[]> {
  const isAbout = ({ name, sealed }: { readonly name: Uint8Array; readonly sealed: Uint8Array }) => {
    try {
      const { body, outcome } = openStoredResponse(keyring, name, sealed)
      return outcome === 'verified' && JSON.parse(body).data[`${kind}_number`] === number
    } catch {
      // One that cannot be decrypted cannot be replayed either, and may be about this person.
      return true
    }
  }
  const found: UnnamedAnswer[] = []
  const operation = `verify_${kind}`
  let after: UnnamedAnswer = { operation, keyId: '', name: new Uint8Array(0) }
  for (;;) {
    const answers = await store.erasure.listUnnamed(after, ANSWERS_AT_ONCE)
    const last = answers.at(-1)
    if (!last) return found
    found.push(...answers.filter(isAbout).map(({ keyId, name }) => ({ operation, keyId, name })))
    after = { operation, keyId: last.keyId, name: last.name }
  }
}
