import type { Keyring } from '../crypto/keyring.ts'
import { seal, toAssociatedData, unseal } from '../crypto/seal.ts'

const bound = (reference: string) => toAssociatedData('batch_rows', Buffer.from(reference), 1)

/** Seals the caller's own word for a row, which may be personal. It is bound to the reference of the verification. */
export const sealLabel = (keyring: Keyring, reference: string, label: string): Buffer =>
  seal(keyring.queue, Buffer.from(label), bound(reference))

const openLabel = (keyring: Keyring, reference: string, sealed: Uint8Array): string =>
  unseal(keyring.queue, sealed, bound(reference)).toString()

type LabelledRow = { readonly reference: string | undefined; readonly label: Uint8Array | undefined }

/** Null for a row without a word. */
export const openRowLabel = (keyring: Keyring, { reference, label }: LabelledRow): string | null =>
  label && reference !== undefined ? openLabel(keyring, reference, label) : null
