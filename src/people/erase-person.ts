import type { AuditEntry } from '../audit/row.ts'
import type { CheckpointFolders } from '../audit/settings.ts'
import { isVirtualNin } from '../contract/person.ts'
import { steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { type Kind, toBlindIndex } from '../crypto/mac.ts'
import type { EndedQueued } from '../ledger/queue-erasure.ts'
import { createReference } from '../verification/verification-request.ts'
import type { Erased } from './erase-rows.ts'
import type { ErasureTable } from './erasure-table.ts'
import { toErasureFolder } from './erasures-file.ts'
import { addErasure } from './keep-erasures-file.ts'
import type { Tombstone } from './tombstone-table.ts'
import { findUnnamed } from './unnamed-answers.ts'

type EraseDeps = {
  readonly store: { readonly erasure: ErasureTable }
  readonly keyring: Keyring
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
  readonly config: CheckpointFolders
}

type Erasure = Erased & {
  /** Why the erasure could not be added to the file of erasures. */
  readonly fileProblem: string | undefined
}

/**
 * Deletes everything that is stored about one number: the record, the picture, responses under Idempotency-Keys, results for
 * reuse, and questions and answers in the queue. The audit row comes first, and contains no number. The guess limit and the
 * audit log stay: they hold keyed hashes only, and deleting them would reset the limits. A tombstone is left, in the database
 * and in a file beside the checkpoints, by which a restore erases the person again.
 */
export async function erasePerson(
  deps: EraseDeps,
  kind: Kind,
  number: string,
  reason?: string,
): Promise<Erasure> {
  const { store, keyring, audit } = deps
  const hashes = toErasureHashes(keyring, kind, number)
  const subjectHash = Buffer.from(hashes.subject).toString('hex')
  const list = store.erasure.listUnnamed
  const unnamed = await findUnnamed(list, keyring, kind, (subject) => subject === subjectHash)
  const subject = { ...hashes, id: createErasureId(), unnamed }
  const found = await store.erasure.count(subject)
  const outcome = isAnything(found) ? 'erased' : 'not_found'
  const detail = toErasureDetail(hashes.kind, found, reason)
  await audit.record([{ phase: 'record_erased', subject: subjectHash, outcome, detail }])
  const { ended, erasedAt, ...erased } = await store.erasure.erase(subject, steadyNow())
  if (ended.length > 0) await audit.record(ended.map((each) => toErasedEnd(each, subjectHash)))
  const late = await store.erasure.eraseKept(subject.subject)
  const folder = toErasureFolder(deps.config)
  const fileProblem = await addErasure(store.erasure, keyring, folder, { ...subject, erasedAt })
    .then(() => undefined)
    .catch((error: NodeJS.ErrnoException) => error.code ?? 'unknown error')
  return { ...erased, keptAnswers: erased.keptAnswers + late, fileProblem }
}

const toErasureHashes = (keyring: Keyring, kind: Kind, number: string) =>
  ({
    kind: isVirtualNin(number) ? 'vnin' : kind,
    record: toBlindIndex(keyring['blind-index'], kind, number),
    reusedResult: toBlindIndex(keyring['reuse-index'], kind, number),
    subject: toBlindIndex(keyring.subject, kind, number),
  }) satisfies Omit<Tombstone, 'id' | 'erasedAt'>

/** A verification that was waiting ends here. */
export const toErasedEnd = (
  { reference, keyId, mode, operation }: EndedQueued,
  subject: string,
): AuditEntry => ({
  phase: 'outcome',
  request_reference: reference,
  key_id: keyId,
  mode,
  operation,
  subject,
  outcome: 'cancelled',
  detail: 'erased',
})

export const isAnything = ({ records, pictures, keptAnswers, reusedResults, queued }: Erased) =>
  records + pictures + keptAnswers + reusedResults + queued > 0

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

export function toErasureDetail(kind: string, found: Erased, reason: string | undefined): string {
  const what = isAnything(found) ? `${kind}: ${listErased(found)}` : kind
  return reason === undefined ? what : `${what}; reason: ${reason}`
}

/** Like a reference: it sorts by time, and cannot be guessed. */
const createErasureId = () => createReference().replace('ver_', 'era_')
