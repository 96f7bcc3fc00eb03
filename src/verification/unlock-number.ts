import type { AuditEntry } from '../audit/row.ts'
import { type Kind, toBlindIndex } from '../crypto/blind-index.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { GuessTable } from '../ledger/guess-table.ts'

type UnlockDeps = {
  readonly store: { readonly guesses: GuessTable }
  readonly keyring: Pick<Keyring, 'subject'>
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
}

type Unlocking = {
  readonly kind: Kind
  readonly number: string
  /** Checked before. */
  readonly reason: string
}

/**
 * Forgets the failed matches of a number, of all keys, so that it can be verified again. Limits on people per day stay. The audit
 * row comes first. Resolves to the number of failed matches.
 */
export async function unlockNumber(deps: UnlockDeps, { kind, number, reason }: Unlocking): Promise<number> {
  const subject = toBlindIndex(deps.keyring.subject, kind, number)
  const detail = `${kind}; reason: ${reason}`
  await deps.audit.record([
    { phase: 'number_unlocked', subject: subject.toString('hex'), outcome: 'ok', detail },
  ])
  return deps.store.guesses.unlock(subject)
}
