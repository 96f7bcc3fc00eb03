import { hash, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { type AuditLog, auditBy } from '../audit/audit-log.ts'
import type { AuditEntry } from '../audit/row.ts'
import { AdminError } from '../contract/error.ts'
import { holdsPersonNumber } from '../contract/free-text.ts'
import { ROLES, type Role } from '../contract/role.ts'
import { DAY_MS, steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { toMac, toTextMac } from '../crypto/mac.ts'
import { UserError } from '../errors.ts'
import type { AccountRow, AccountTable, InvitationRow } from './account-table.ts'
import type { IdentityTable } from './identity-table.ts'
import { toBase32 } from './totp.ts'

/** What a change of accounts needs. The console and the command line use the same functions. */
export type AccountDeps = {
  readonly store: { readonly accounts: AccountTable }
  readonly audit: Pick<AuditLog, 'record'>
  /** Who makes the change: the name of an account, or the system user on the command line. */
  readonly by: string
}

/** What a one-time link needs besides: the key under which its token is hashed. */
export type LinkDeps = AccountDeps & { readonly keyring: Pick<Keyring, 'console-token'> }

/** A one-time link without the address of the console. The token is not stored. */
export type NewInvitation = { readonly token: string; readonly role: Role; readonly expiresAt: number }

const INVITATION_MS = DAY_MS

export async function inviteAccount(deps: LinkDeps, role: Role): Promise<NewInvitation> {
  return invite(deps, { phase: 'account_invited', detail: role }, { role, account: undefined })
}

/** A link that sets a new password. The old password works until the link is used. */
export async function resetAccount(deps: LinkDeps, name: string): Promise<NewInvitation> {
  const { role, password } = await findAccount(deps, name)
  if (password === '')
    throw new UserError(`${name} signs in through your identity provider, and has no password here.`)
  return invite(deps, { phase: 'account_reset', detail: name }, { role, account: name })
}

async function invite(
  deps: LinkDeps,
  entry: AuditEntry,
  { role, account }: { readonly role: Role; readonly account: string | undefined },
): Promise<NewInvitation> {
  const token = createToken()
  const id = toTokenId(deps.keyring['console-token'], token) as Uint8Array
  const createdAt = steadyNow()
  const expiresAt = createdAt + INVITATION_MS
  const invitation = { id, role, account, madeBy: deps.by, createdAt, expiresAt }
  const detail = `${entry.detail}, link works until ${new Date(expiresAt).toISOString()}`
  const mac = toInvitationMac(deps.keyring['console-token'], invitation)
  await withAudit(deps, { ...entry, detail }, () => deps.store.accounts.invite({ ...invitation, mac }))
  return { token, role, expiresAt }
}

export async function changeRole(deps: AccountDeps, name: string, role: Role): Promise<void> {
  const account = await findAccount(deps, name)
  if (account.role === role) throw new UserError(`${name} already has the role ${role}.`)
  await refuseLastOwner(deps, account)
  const detail = `${name}, from ${account.role} to ${role}`
  await withAudit(deps, { phase: 'role_changed', detail }, () => deps.store.accounts.setRole(name, role))
}

export async function removeAccount(deps: AccountDeps, name: string): Promise<void> {
  const account = await findAccount(deps, name)
  await refuseLastOwner(deps, account)
  const detail = `${name}, ${account.role}`
  await withAudit(deps, { phase: 'account_removed', detail }, () => deps.store.accounts.remove(name))
}

/**
 * Writes the audit row before the change. If the store then refuses, because another change came first (the work throws
 * a `UserError` or an `AdminError`, or returns false), a second row records that.
 */
export async function withAudit<T>(
  { audit, by }: Pick<AccountDeps, 'audit' | 'by'>,
  entry: AuditEntry,
  work: () => Promise<T>,
): Promise<T> {
  const log = auditBy({ context: { audit } }, { name: by })
  const recordRefusal = () => log.record([{ ...entry, outcome: 'refused' }])
  await log.record([{ ...entry, outcome: 'ok' }])
  try {
    const done = await work()
    if (done === false) await recordRefusal()
    return done
  } catch (error) {
    if (error instanceof UserError || error instanceof AdminError) await recordRefusal()
    throw error
  }
}

/** Checked before the audit row is written. The store checks again: two changes may arrive at the same moment. */
async function refuseLastOwner({ store }: AccountDeps, { name, role }: AccountRow): Promise<void> {
  if (role !== 'owner') return
  const owners = (await store.accounts.list()).filter((account) => account.role === 'owner')
  if (owners.length < 2)
    throw new UserError(`${name} is the last owner. Give another account the role owner first.`)
}

/** The message repeats the name only if it is a valid account name: other text may be personal data. */
export async function findAccount({ store }: Pick<AccountDeps, 'store'>, name: string): Promise<AccountRow> {
  const account = await store.accounts.find(name)
  if (account) return account
  throw new UserError(
    `There is no account ${/^[a-z0-9][a-z0-9._-]{1,39}$/.test(name) ? name : 'with this name'}.`,
  )
}

const TOKEN_BYTES = 32

/** The secret in a cookie or a link. It is not stored. */
export const createToken = () => randomBytes(TOKEN_BYTES).toString('base64url')

/**
 * The hash that the store keeps; a random token of this length needs no slow hash. Its key is not in the database: who can only
 * write there cannot make a session or an invitation of his own. Undefined if the text is not a token.
 */
export const toTokenId = (key: KeyObject, token: string): Uint8Array | undefined =>
  /^[A-Za-z0-9_-]{43}$/.test(token) ? Buffer.from(toTextMac(key, token), 'hex') : undefined

/** Keyed hash of columns that belong together. No token is JSON, so it is never the hash of one. */
export const toColumnMac = (key: KeyObject, columns: readonly (string | number | null)[]): Buffer =>
  toMac(key, Buffer.from(JSON.stringify(columns)))

export const isMac = (found: Uint8Array | undefined, mac: Uint8Array): boolean =>
  found?.length === mac.length && timingSafeEqual(found, mac)

/** Who has a link, and can write to the database, cannot make it one for another account. */
export const toInvitationMac = (
  key: KeyObject,
  { id, role, account, madeBy, createdAt, expiresAt }: InvitationRow,
): Buffer =>
  toColumnMac(key, [
    'invitation',
    Buffer.from(id).toString('hex'),
    role,
    account ?? null,
    madeBy,
    createdAt,
    expiresAt,
  ])

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
    (await findIdentity(deps, id, toName(claims, rules))) ??
    (await createAccount(deps, id, toName(claims, rules), role))
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

/**
 * The name of the account of an identity. 0.3.0 stored identities without a MAC. Such an identity gets one if its account has the
 * name that the claims give. Throws `sso_failed` if the names differ: the row may have been changed in the database.
 */
async function findIdentity({ store, key }: Deps, id: string, claimed: string): Promise<string | undefined> {
  const found = await store.identities.find(id)
  if (!found) return undefined
  const { account } = found
  const mac = toIdentityMac(key, id, account)
  if (isMac(found.mac, mac)) return account
  if (account !== claimed) throw new AdminError('sso_failed')
  await store.identities.bind(id, mac)
  return account
}

const toIdentityMac = (key: KeyObject, id: string, account: string) =>
  toColumnMac(key, ['identity-account', id, account])

async function createAccount(deps: Deps, id: string, name: string, role: Role): Promise<string> {
  const { store, audit, key } = deps
  // Never an account that exists: the provider, or its user, chooses the name.
  if (await store.accounts.find(name)) throw new AdminError('sso_name_taken')
  const detail = `${name}, ${role}, by single sign-on`
  const isDone = await withAudit({ audit, by: name }, { phase: 'account_created', detail }, () =>
    store.identities.create({ id, name, role, at: steadyNow(), mac: toIdentityMac(key, id, name) }),
  )
  if (isDone) return name
  // Of two first sign-ins at the same moment, the other came first.
  const found = await findIdentity(deps, id, name)
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
