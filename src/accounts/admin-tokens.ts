import type { Role } from '../contract/role.ts'
import { DAY_MS, steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import { toKeyHash } from '../keys/api-key.ts'
import { InvalidOption, readLifetime } from '../keys/key-options.ts'
import { type AccountDeps, withAudit } from './accounts.ts'
import { createTokenText } from './admin-token.ts'
import type { AdminTokenRow, AdminTokenTable } from './admin-token-table.ts'

/** What a change of tokens needs. The console and the command line use the same functions. */
export type AdminTokenDeps = Pick<AccountDeps, 'audit' | 'by'> & {
  readonly store: { readonly adminTokens: AdminTokenTable }
  readonly keyring: Pick<Keyring, 'api-key-pepper'>
}

export type AdminTokenOptions = {
  readonly name: string
  readonly role: Role
  readonly lifetimeMs: number
  readonly allowedIps: readonly string[] | undefined
}

/** A token with its secret, which is shown once and never stored. */
type NewAdminToken = { readonly text: string; readonly row: AdminTokenRow }

export const TOKEN_LIFETIME = '90d'
const LONGEST_MS = 366 * DAY_MS

/** A token always expires: a forgotten one must not stay valid. */
export function readTokenLifetime(text: string): number {
  const lifetimeMs = readLifetime(text)
  if (lifetimeMs <= LONGEST_MS) return lifetimeMs
  throw new InvalidOption('Give at most 1y: a token always expires.')
}

export async function createAdminToken(
  deps: AdminTokenDeps,
  { name, role, lifetimeMs, allowedIps }: AdminTokenOptions,
): Promise<NewAdminToken> {
  const { id, text } = createTokenText()
  const createdAt = steadyNow()
  const row: AdminTokenRow = {
    id,
    name,
    hash: toKeyHash(text, deps.keyring['api-key-pepper']),
    role,
    allowedIps,
    madeBy: deps.by,
    createdAt,
    expiresAt: createdAt + lifetimeMs,
    revokedAt: undefined,
    lastUsedAt: undefined,
  }
  await withAudit(deps, { phase: 'token_created', detail: toGrant(row) }, () =>
    deps.store.adminTokens.insert(row),
  )
  return { text, row }
}

export async function revokeAdminToken(deps: AdminTokenDeps, id: string): Promise<void> {
  const row = await deps.store.adminTokens.find(id)
  if (!row) throw toUnknownToken(id)
  const revokedBefore = new UserError(`Token ${id} was revoked before.`)
  if (row.revokedAt !== undefined) throw revokedBefore
  const isDone = await withAudit(deps, { phase: 'token_revoked', detail: toTokenName(id) }, () =>
    deps.store.adminTokens.revoke(id, steadyNow()),
  )
  if (!isDone) throw revokedBefore
}

/** Names the token in the audit log. No account can have this name, because it contains a space. */
export const toTokenName = (id: string) => `token ${id}`

const toGrant = ({ id, name, role, expiresAt, allowedIps }: AdminTokenRow) =>
  `${toTokenName(id)}; name: ${name}; role: ${role}; expires: ${new Date(expiresAt).toISOString()}; addresses: ${allowedIps?.join(' ') ?? 'any'}`

/** The id is repeated only if it looks like an id: it may be a whole token, pasted by mistake. */
const toUnknownToken = (id: string) =>
  new UserError(
    `There is no token ${/^[0-9A-Za-z]{8}$/.test(id) ? id : 'with this id'}. See: tabbat tokens list`,
  )
