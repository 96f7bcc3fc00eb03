import type { Role } from '../contract/role.ts'
import type { SignInMethod } from '../contract/sign-in-method.ts'

/** The roles that must have a second factor. */
export type RequiredRoles = readonly Role[] | 'off'

/** Whether a session was opened with the password alone although its role requires more. A token has no method. */
export const lacksFactor = (
  { role, method }: { readonly role: Role; readonly method?: SignInMethod },
  required: RequiredRoles,
): boolean => required !== 'off' && method === 'password' && required.includes(role)
