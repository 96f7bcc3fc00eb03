import { hash, type KeyObject } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.ts'
import { AdminError } from '../contract/error.ts'
import { holdsPersonNumber } from '../contract/free-text.ts'
import { ROLES, type Role } from '../contract/role.ts'
import { steadyNow } from '../contract/time.ts'
import { toTextMac } from '../crypto/mac.ts'
import type { AccountRow, AccountTable } from './account-table.ts'
import { withAudit } from './accounts.ts'
import type { IdentityTable } from './identity-table.ts'
import { toBase32 } from './totp.ts'

/** What the provider has said about a person, with a valid signature. */
export type Claims = { readonly iss: string; readonly sub: string; readonly [name: string]: unknown }

/** Which claims give the name and the role. */
export type ClaimRules = {
  readonly nameClaim: string
  readonly roleClaim: string
  /** The values of the claim that give a role. None gives the role owner. */
  readonly roles: Readonly<Partial<Record<Role, readonly string[]>>>
}

type Deps = {
  readonly store: { readonly accounts: AccountTable; readonly identities: IdentityTable }
  readonly audit: AuditLog
  readonly key: KeyObject
}

/**
 * The account of a person who has signed in at the provider; created at the first time. Its role follows the claims at every
 * sign-in, but for an owner: only an owner makes owners. Throws `sso_no_role` without a role, also for an owner.
 */
export async function findSsoAccount(deps: Deps, claims: Claims, rules: ClaimRules): Promise<AccountRow> {
  const { store, audit, key } = deps
  audit.requireHealthy()
  const role = toRole(claims, rules)
  if (!role) throw new AdminError('sso_no_role')
  const id = toTextMac(key, JSON.stringify(['identity', claims.iss, claims.sub]))
  const name =
    (await store.identities.find(id)) ?? (await createAccount(deps, id, toName(claims, rules), role))
  const account = await store.accounts.find(name)
  // Removed at this moment.
  if (!account) throw new AdminError('sso_failed')
  if (account.role === role || account.role === 'owner') return account
  const detail = `${name}, from ${account.role} to ${role}, by the claims of single sign-on`
  await withAudit({ audit, by: name }, { phase: 'role_changed', detail }, () =>
    store.accounts.setRole(name, role),
  )
  return { ...account, role }
}

async function createAccount({ store, audit }: Deps, id: string, name: string, role: Role): Promise<string> {
  // Never an account that exists: the provider, or its user, chooses the name.
  if (await store.accounts.find(name)) throw new AdminError('sso_name_taken')
  const detail = `${name}, ${role}, by single sign-on`
  const isDone = await withAudit({ audit, by: name }, { phase: 'account_created', detail }, () =>
    store.identities.create({ id, name, role, at: steadyNow() }),
  )
  if (isDone) return name
  // Of two first sign-ins at the same moment, the other came first.
  const found = await store.identities.find(id)
  if (found === undefined) throw new AdminError('sso_name_taken')
  return found
}

/** The highest role that a value of the claim gives. The claim is a list, or a text. */
export function toRole(claims: Claims, { roleClaim, roles }: ClaimRules): Role | undefined {
  const values = [readClaim(claims, roleClaim)].flat()
  return ROLES.toReversed().find((role) => roles[role]?.some((wanted) => values.includes(wanted)))
}

/** `realm_access.roles` reads a claim inside another, unless a claim has that whole name. */
function readClaim(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  return name
    .split('.')
    .reduce<unknown>(
      (value, part) =>
        typeof value === 'object' && value !== null && Object.hasOwn(value, part)
          ? (value as Record<string, unknown>)[part]
          : undefined,
      claims,
    )
}

/**
 * When the person last signed in at the provider; 0 if it does not say. An open session there signs in without the person, so
 * that alone confirms nothing.
 */
export const toSignInTime = ({ auth_time: seconds }: Claims): number =>
  typeof seconds === 'number' ? Math.min(seconds * 1000, steadyNow()) : 0

/** Made of the claim if it can be the name of an account; else one that says nothing about the person. */
export function toName(claims: Claims, { nameClaim }: Pick<ClaimRules, 'nameClaim'>): string {
  const given = readClaim(claims, nameClaim)
  const name = typeof given === 'string' ? (given.toLowerCase().split('@')[0] ?? '') : ''
  if (/^[a-z0-9][a-z0-9._-]{1,39}$/.test(name) && !holdsPersonNumber(name)) return name
  const digest = hash('sha256', JSON.stringify([claims.iss, claims.sub]), 'buffer')
  return `sso-${toBase32(digest).toLowerCase().slice(0, 8)}`
}
