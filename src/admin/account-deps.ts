import type { AccountDeps } from '../accounts/accounts.ts'
import type { Actor } from '../contract/role.ts'
import type { AdminDeps } from './admin-deps.ts'

/** What a change of accounts needs, made by the signed-in account. */
export const toAccountDeps = ({ context }: AdminDeps, { name }: Actor): AccountDeps => ({
  store: context.store,
  audit: context.audit,
  by: name,
})
