import type { RequireMatch } from '../contract/person-details.ts'
import type { Mode, Scope } from '../contract/scope.ts'

/** The API key of a request, and what it may do. */
export type Caller = {
  readonly keyId: string
  /** The id of the first key before any roll. Limits and stored responses are kept under it, so that rolling resets nothing. */
  readonly lineage: string
  readonly mode: Mode
  readonly scopes: ReadonlySet<Scope>
  readonly isAddressAllowed: (address: string) => boolean
  /** Fingerprints of client certificates, one of which the connection must have proved. Undefined: none is needed. */
  readonly clientCerts: ReadonlySet<string> | undefined
  /** Dotted names of the fields that are hidden from this key. */
  readonly hidden: readonly string[]
  /** Every verification must carry X-Consent-Reference. */
  readonly requiresConsent: boolean
  /** A verification becomes pending when no source can answer. */
  readonly asyncWhenDown: boolean
  /** Details that must be given and must match. */
  readonly requireMatch?: RequireMatch | undefined
  /** How many people it may ask about in a day. */
  readonly subjectsPerDay: number
  /** The store is unavailable, so a revocation may have been missed: valid for look-ups only. */
  readonly isUnconfirmed?: boolean
}
