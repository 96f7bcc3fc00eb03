import type { AccountRow } from '../accounts/account-table.ts'
import {
  changeRole,
  inviteAccount,
  type NewInvitation,
  removeAccount,
  resetAccount,
} from '../accounts/accounts.ts'
import { listOpenInvitations, voidInvitation } from '../accounts/invitations.ts'
import { type Static, Type } from '../contract/schema.ts'
import { toAccountDeps } from './admin-deps.ts'
import { done, Ok, RoleName, strict, Time } from './fields.ts'
import { type AdminRoute, defineRoute } from './route.ts'
import { AccountName, Token } from './sessions.ts'

export const Account = Type.Object({
  name: AccountName,
  role: RoleName,
  has_second_factor: Type.Boolean(),
  created_at: Time,
  last_seen_at: Type.Nullable(Time),
})
export type Account = Static<typeof Account>
export const Accounts = Type.Object({ accounts: Type.Array(Account) })
const Invite = Type.Object({ role: RoleName }, strict)
/** The token is returned only here; the page makes a link of it. */
export const OneTimeLink = Type.Object({ token: Token, role: RoleName, expires_at: Time })

/** A link that was created and not used yet. The link cannot be derived from the id. */
export const OpenInvitation = Type.Object({
  id: Type.String({ pattern: '^[0-9a-f]{12}$' }),
  role: RoleName,
  /** The account whose password it sets; null when it creates an account. */
  account: Type.Nullable(AccountName),
  made_by: Type.String(),
  created_at: Time,
  expires_at: Time,
})
export type OpenInvitation = Static<typeof OpenInvitation>
export const OpenInvitations = Type.Object({ invitations: Type.Array(OpenInvitation) })
const ChangeRole = Type.Object({ role: RoleName }, strict)

const tag = 'Accounts'

const listAccounts = defineRoute({
  name: 'list_accounts',
  tag,
  method: 'GET',
  path: '/admin/accounts',
  summary: 'The accounts of the console.',
  role: 'owner',
  output: Accounts,
  run: async ({ context: { store } }) => {
    const withFactors = await store.factors.listAccounts()
    return { accounts: (await store.accounts.list()).map((row) => toAccount(row, withFactors)) }
  },
})

const invite = defineRoute({
  name: 'invite_account',
  tag,
  method: 'POST',
  path: '/admin/invitations',
  summary: 'Create a one-time link for a new account. It is valid for 24 hours and returned only here.',
  role: 'owner',
  isSensitive: true,
  input: Invite,
  output: OneTimeLink,
  run: async (deps, { input, actor }) =>
    toOneTimeLink(await inviteAccount(toAccountDeps(deps, actor), input.role)),
})

const listInvitations = defineRoute({
  name: 'list_invitations',
  tag,
  method: 'GET',
  path: '/admin/invitations',
  summary: 'Open one-time links: not used and not expired.',
  role: 'owner',
  output: OpenInvitations,
  run: async ({ context }) => ({ invitations: await listOpenInvitations(context.store) }),
})

const voidOne = defineRoute({
  name: 'void_invitation',
  tag,
  method: 'POST',
  path: '/admin/invitations/:id/void',
  summary: 'Void a one-time link.',
  role: 'owner',
  output: Ok,
  run: async (deps, { params, actor }) => {
    await voidInvitation(toAccountDeps(deps, actor), params.id ?? '')
    return done
  },
})

const setRole = defineRoute({
  name: 'change_role',
  tag,
  method: 'POST',
  path: '/admin/accounts/:name/role',
  summary: 'Change the role of an account. Ends its sessions.',
  role: 'owner',
  isSensitive: true,
  input: ChangeRole,
  output: Ok,
  run: async (deps, { input, params, actor }) => {
    await changeRole(toAccountDeps(deps, actor), params.name ?? '', input.role)
    return done
  },
})

const reset = defineRoute({
  name: 'reset_account',
  tag,
  method: 'POST',
  path: '/admin/accounts/:name/reset',
  summary: 'Create a one-time link that sets a new password for an account.',
  role: 'owner',
  isSensitive: true,
  output: OneTimeLink,
  run: async (deps, { params, actor }) =>
    toOneTimeLink(await resetAccount(toAccountDeps(deps, actor), params.name ?? '')),
})

const remove = defineRoute({
  name: 'remove_account',
  tag,
  method: 'POST',
  path: '/admin/accounts/:name/remove',
  summary: 'Remove an account. Ends its sessions.',
  role: 'owner',
  isSensitive: true,
  output: Ok,
  run: async (deps, { params, actor }) => {
    await removeAccount(toAccountDeps(deps, actor), params.name ?? '')
    return done
  },
})

const toOneTimeLink = ({ token, role, expiresAt }: NewInvitation) => ({
  token,
  role,
  expires_at: toTime(expiresAt),
})

const toAccount = (row: AccountRow, withFactors: ReadonlySet<string>): Account => ({
  name: row.name,
  role: row.role,
  has_second_factor: withFactors.has(row.name),
  created_at: toTime(row.createdAt),
  last_seen_at: row.lastSeenAt === undefined ? null : toTime(row.lastSeenAt),
})

const toTime = (at: number) => new Date(at).toISOString()

export const ACCOUNT_ROUTES: readonly AdminRoute[] = [
  listAccounts,
  listInvitations,
  invite,
  voidOne,
  setRole,
  reset,
  remove,
]
