import type { Mode, Scope } from '../contract/scope.ts'

/** The API key of a request, and what it may do. */
export type Caller = {
  readonly keyId: string
  /** The first key of its line. Everything that is counted or kept for a key is under this id: rolling resets nothing. */
  readonly lineage: string
  readonly mode: Mode
  readonly scopes: ReadonlySet<Scope>
  readonly isAddressAllowed: (address: string) => boolean
  /** Dotted names of the fields that this key does not see. */
  readonly hidden: readonly string[]
  /** Every verification must name the customer's consent. */
  readonly requiresConsent: boolean
  /** How many people it may ask about in a day. */
  readonly subjectsPerDay: number
  /** The store cannot be asked, so a revocation may have been missed: good for look-ups only. */
  readonly isUnconfirmed?: boolean
}
