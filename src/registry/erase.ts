import type { AuditEntry } from '../audit/row.ts'
import { type Kind, toBlindIndex } from '../crypto/blind-index.ts'
import type { SealedStore } from '../sealed-store.ts'
import { toSubject } from './sealed-entry.ts'

type EraseDesk = Pick<SealedStore, 'store' | 'keyring'> & {
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
}

/** What was there to be erased. */
export type Erased = { readonly record: boolean; readonly keptAnswer: boolean }

/**
 * Takes a person's record and picture out of the registry, and what is kept of a vendor's answer. Every erasure goes through
 * here, whoever asks for it, and is in the audit log before it happens: the trace names nobody.
 */
export async function eraseRecord(
  { store, keyring, audit }: EraseDesk,
  kind: Kind,
  number: string,
): Promise<Erased> {
  const subject = toSubject(keyring, kind, number)
  const kept = toBlindIndex(keyring['reuse-index'], kind, number)
  const found = {
    record: (await store.registry.find(subject)) !== undefined,
    keptAnswer: await store.reuse.has(kept),
  }
  await audit.record([
    {
      phase: 'record_erased',
      subject: toBlindIndex(keyring.subject, kind, number).toString('hex'),
      outcome: found.record || found.keptAnswer ? 'erased' : 'not_found',
      detail: toDetail(kind, found),
    },
  ])
  const keptAnswer = await store.reuse.erase(kept)
  return { record: await store.registry.erase(subject), keptAnswer }
}

function toDetail(kind: Kind, { record, keptAnswer }: Erased): string {
  if (!keptAnswer) return kind
  return record
    ? `${kind}, with what was kept of a vendor's answer`
    : `${kind}, what was kept of a vendor's answer`
}
