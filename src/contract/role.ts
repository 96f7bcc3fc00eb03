/** What a person at the console may do; each may do all that the one before may. */
export const ROLES = ['viewer', 'operator', 'owner'] as const

export type Role = (typeof ROLES)[number]

export const isAtLeast = (role: Role, needed: Role) => ROLES.indexOf(role) >= ROLES.indexOf(needed)

/** Somebody who has signed in. */
export type Actor = {
  readonly name: string
  readonly role: Role
  /** Names the session in the store; not what the cookie holds. */
  readonly session: string
}
