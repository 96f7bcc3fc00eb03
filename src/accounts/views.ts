import type { Role, SignInMethod } from '../contract/role.ts'

/** A session as the console shows it. Times are ISO 8601. */
export type Session = {
  name: string
  role: Role
  method: SignInMethod
  /** False for an account of single sign-on. */
  has_password: boolean
  /** The role requires a second factor, and this session has none: only the set-up of one is allowed. */
  must_set_up: boolean
  /** When the session ends without a request, and when it ends in any case. */
  idle_until: string
  expires_at: string
  version: string
}

/** What a one-time link is for. `name` is set when it resets the password of that account. */
export type Invitation = { role: Role; name: string | null; expires_at: string }

/** A one-time link that was created and not used yet. */
export type OpenInvitation = {
  /** Derived from the stored hash; the link cannot be derived from it. */
  id: string
  role: Role
  /** The account whose password it sets; null when it creates an account. */
  account: string | null
  made_by: string
  created_at: string
  expires_at: string
}

/** A session that has not ended. */
export type OpenSession = {
  /** Derived from the stored hash; the cookie cannot be derived from it. */
  id: string
  account: string
  method: SignInMethod
  /** Null if an older version opened it. */
  address: string | null
  browser: string | null
  created_at: string
  seen_at: string
  /** The session that asks. */
  is_own: boolean
}

/** The second factors of an account. */
export type FactorList = {
  /** Since when it has an authenticator app; null if it has none. */
  totp_since: string | null
  passkeys: { id: string; name: string; host: string; created_at: string; last_used_at: string | null }[]
  /** Recovery codes that were not used yet. */
  recovery_codes: number
}
