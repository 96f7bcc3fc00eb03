import { createBlankRecord } from '../contract/record.ts'
import { steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { type Kind, toBlindIndex } from '../crypto/mac.ts'
import { seal, toAssociatedData, unseal } from '../crypto/seal.ts'
import type { KeptResult } from '../ledger/commit.ts'
import type { ReuseTable } from './reuse-table.ts'

/** Verified results of vendors, kept for a short time where the operator allows it (TABBAT_REUSE). */
export type Reuse = {
  readonly find: <T>(kind: Kind, number: string) => Promise<Reused<T> | undefined>
  /** As it is written with the outcome. For verified results only, not for every record that was found. */
  readonly toKept: <T>(kind: Kind, number: string, result: Reused<T>) => KeptResult
}

type Reused<T> = { readonly record: T; readonly source: string }

export function createReuse(
  table: ReuseTable,
  keyring: Keyring,
  lifeMs: number,
  now: () => number = steadyNow,
): Reuse {
  const key = keyring.reuse
  const toSubject = (kind: Kind, number: string) => toReuseSubject(keyring, kind, number)
  const open = <T>(subject: Uint8Array, sealed: Uint8Array) => openReused<T>(keyring, subject, sealed)
  const decoy = createDecoy((subject, bytes) => seal(key, bytes, bound(subject)))
  return {
    find: async <T>(kind: Kind, number: string) => {
      const subject = toSubject(kind, number)
      const sealed = await table.find(subject, now())
      // A decoy is decrypted instead, so that the time does not tell whether a result is stored.
      if (!sealed) open(decoy.subject, decoy.sealed)
      return sealed && open<T>(subject, sealed)
    },
    toKept: (kind, number, result) => {
      const subject = toSubject(kind, number)
      const sealed = seal(key, Buffer.from(JSON.stringify(result)), bound(subject))
      return { subject, sealed, expiresAt: now() + lifeMs }
    },
  }
}

const bound = (subject: Uint8Array) => toAssociatedData('reused_results', subject, 1)

export const openReused = <T>(
  keyring: Pick<Keyring, 'reuse'>,
  subject: Uint8Array,
  sealed: Uint8Array,
): Reused<T> => JSON.parse(unseal(keyring.reuse, sealed, bound(subject)).toString()) as Reused<T>

const toReuseSubject = (keyring: Keyring, kind: Kind, number: string) =>
  toBlindIndex(keyring['reuse-index'], kind, number)

/** A result of usual size that belongs to no person. */
function createDecoy(sealIt: (subject: Uint8Array, bytes: Buffer) => Uint8Array) {
  const subject = Buffer.alloc(32)
  const record = createBlankRecord('nin', 'no person has this record')
  return { subject, sealed: sealIt(subject, Buffer.from(JSON.stringify({ record, source: 'none' }))) }
}
