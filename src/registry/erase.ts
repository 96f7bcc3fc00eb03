import type { AuditEntry } from '../audit/row.ts'
import { type Kind, toBlindIndex } from '../crypto/blind-index.ts'
import type { SealedStore } from '../sealed-store.ts'
import { toSubject } from './sealed-entry.ts'

type EraseDesk = Pick<SealedStore, 'store' | 'keyring'> & {
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
}

/**
 * Takes a person's record and picture out of the registry, and what is kept of a vendor's answer. False when there was no record. Every erasure goes through here,
 * whoever asks for it, and is in the audit log before it happens: the trace names nobody.
 */
export async function eraseRecord(
  { store, keyring, audit }: EraseDesk,
  kind: Kind,
  number: string,
): Promise<boolean> {
  const subject = toSubject(keyring, kind, number)
  const found = (await store.registry.find(subject)) !== undefined
  await audit.record([
    {
      phase: 'record_erased',
      subject: toBlindIndex(keyring.subject, kind, number).toString('hex'),
      outcome: found ? 'erased' : 'not_found',
      detail: kind,
    },
  ])
  await store.reuse.erase(toBlindIndex(keyring['reuse-index'], kind, number))
  return store.registry.erase(subject)
}
