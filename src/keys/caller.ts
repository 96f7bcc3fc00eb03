import type { Mode, Scope } from '../contract/scope.ts'
import { createAddressRule } from './api-key.ts'
import { toHiddenFields } from './field-policy.ts'
import type { KeyRow } from './key-table.ts'
import { type OptionValues, SUBJECTS_PER_DAY, withDefaults } from './options.ts'

/** The API key of a request, and what it may do: its options, and what follows from them. */
export type Caller = OptionValues & {
  readonly keyId: string
  /** The id of the first key before any roll. Limits and stored responses are kept under it, so that rolling resets nothing. */
  readonly lineage: string
  readonly mode: Mode
  readonly scopes: ReadonlySet<Scope>
  readonly isAddressAllowed: (address: string) => boolean
  /** Dotted names of the fields that are hidden from this key. */
  readonly hidden: readonly string[]
  /** How many people it may ask about in a day. */
  readonly subjectsPerDay: number
  /** The store is unavailable, so a revocation may have been missed: valid for look-ups only. */
  readonly isUnconfirmed?: boolean
}

type CallerKey = OptionValues & Pick<KeyRow, 'id' | 'lineage' | 'mode' | 'scopes'>

export const toCaller = (key: CallerKey): Caller => ({
  ...withDefaults(key),
  keyId: key.id,
  lineage: key.lineage,
  mode: key.mode,
  scopes: new Set(key.scopes),
  isAddressAllowed: createAddressRule(key.allowedIps),
  hidden: toHiddenFields(key.hide, key.reveal),
  subjectsPerDay: key.subjectsPerDay ?? SUBJECTS_PER_DAY,
})
