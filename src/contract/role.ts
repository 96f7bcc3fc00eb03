/** Roles of console accounts, weakest first. Each includes the rights of the one before. */
export const ROLES = ['viewer', 'operator', 'owner'] as const

export type Role = (typeof ROLES)[number]

export const isAtLeast = (role: Role, needed: Role) => ROLES.indexOf(role) >= ROLES.indexOf(needed)

/** How a session was opened. */
export const SIGN_IN_METHODS = ['password', 'code', 'recovery_code', 'passkey', 'sso'] as const

export type SignInMethod = (typeof SIGN_IN_METHODS)[number]

/** A signed-in account of the console, or a token of the admin API. */
export type Actor = {
  readonly name: string
  readonly role: Role
  /** The id of the session in the store, not the token of the cookie. */
  readonly session: string
  /** The id of the token. Undefined for an account. */
  readonly token?: string
  /** How the session was opened. Absent if there is no session. */
  readonly method?: SignInMethod
  /** When its account last proved who it is: at the sign-in, or later. Absent if there is no session. */
  readonly confirmedAt?: number
}
