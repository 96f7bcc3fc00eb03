import type { Role } from '../contract/role.ts'

/** A session as the console shows it. Times are ISO 8601. */
export type Session = {
  name: string
  role: Role
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
