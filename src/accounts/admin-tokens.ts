import { type KeyObject, timingSafeEqual } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.ts'
import { AdminError } from '../contract/error.ts'
import type { Actor, Role } from '../contract/role.ts'
import { DAY_MS, MINUTE_MS, steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import {
  createAddressRule,
  createSecretText,
  hasChecksum,
  type SecretText,
  toKeyHash,
} from '../keys/api-key.ts'
import { createBoundedMap } from '../keys/bounded-map.ts'
import { InvalidOption, readLifetime } from '../keys/key-options.ts'
import { createRateLimit } from '../keys/rate-limit.ts'
import type { Log } from '../telemetry/log.ts'
import { type AccountDeps, withAudit } from './accounts.ts'
import type { AdminTokenRow, AdminTokenTable } from './admin-token-table.ts'
import { tooManyTriesError, UNKNOWN_TOKENS_PER_MINUTE } from './throttle.ts'

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
const MAX_LIFETIME_MS = 366 * DAY_MS

/** A token always expires: a forgotten one must not stay valid. */
export function readTokenLifetime(text: string): number {
  const lifetimeMs = readLifetime(text)
  if (lifetimeMs <= MAX_LIFETIME_MS) return lifetimeMs
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
  if (!row) throw unknownTokenError(id)
  const revokedBefore = new UserError(`Token ${id} was revoked before.`)
  if (row.revokedAt !== undefined) throw revokedBefore
  const isDone = await withAudit(deps, { phase: 'token_revoked', detail: toTokenName(id) }, () =>
    deps.store.adminTokens.revoke(id, steadyNow()),
  )
  if (!isDone) throw revokedBefore
}

/** Names the token in the audit log. No account can have this name, because it contains a space. */
const toTokenName = (id: string) => `token ${id}`

const toGrant = ({ id, name, role, expiresAt, allowedIps }: AdminTokenRow) =>
  `${toTokenName(id)}; name: ${name}; role: ${role}; expires: ${new Date(expiresAt).toISOString()}; addresses: ${allowedIps?.join(' ') ?? 'any'}`

/** The id is repeated only if it looks like an id: it may be a whole token, pasted by mistake. */
const unknownTokenError = (id: string) =>
  new UserError(
    `There is no token ${/^[0-9A-Za-z]{8}$/.test(id) ? id : 'with this id'}. See: tabbat tokens list`,
  )

const PREFIX = 'tbt_admin_'
const PATTERN = /^tbt_admin_([0-9A-Za-z]{8})[0-9A-Za-z]{38}$/

/** Like an API key, with a prefix of its own: neither is accepted in place of the other. */
export const createTokenText = (): SecretText => createSecretText(PREFIX)

/** Undefined for malformed text. */
function parseAdminToken(text: string): SecretText | undefined {
  const id = PATTERN.exec(text)?.[1]
  return id !== undefined && hasChecksum(text) ? { id, text } : undefined
}

/**
 * The token in an Authorization header; undefined when the header holds something else. A proxy may send credentials of
 * its own, which must not end the session of a browser.
 */
export const readBearerToken = (authorization = ''): string | undefined =>
  /^bearer +(tbt_admin_\S*)\s*$/i.exec(authorization)?.[1]

/** A token without its secret, for the CLI and the admin API. */
export function toAdminTokenView(row: AdminTokenRow) {
  const time = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString())
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    state: toAdminTokenState(row),
    allowed_ips: row.allowedIps ? [...row.allowedIps] : null,
    made_by: row.madeBy,
    created_at: new Date(row.createdAt).toISOString(),
    expires_at: new Date(row.expiresAt).toISOString(),
    revoked_at: time(row.revokedAt),
    last_used_at: time(row.lastUsedAt),
  }
}

function toAdminTokenState(row: AdminTokenRow): 'active' | 'revoked' | 'expired' {
  if (row.revokedAt !== undefined) return 'revoked'
  return row.expiresAt <= steadyNow() ? 'expired' : 'active'
}

type Deps = {
  readonly table: Pick<AdminTokenTable, 'find' | 'touch'>
  readonly pepper: () => KeyObject
  readonly audit: Pick<AuditLog, 'record'>
  readonly log: Pick<Log, 'failure'>
  readonly now?: () => number
}

/** The token as an actor. Throws `token_refused`, `address_refused` or `too_many_tries`. */
export type CheckAdminToken = (text: string, address: string) => Promise<Actor>

const MAX_KNOWN = 1000
/** The last use is stored at most this often. */
const TOUCH_EVERY_MS = MINUTE_MS

/** Every request reads the row, so that a revoked token ends at once on all nodes. */
export function createCheckAdminToken({ table, pepper, audit, log, now }: Deps): CheckAdminToken {
  // A token that was right before is not counted: wrong ones from the same address must not stop it.
  const known = createBoundedMap<string, true>(MAX_KNOWN)
  const unknown = createRateLimit(UNKNOWN_TOKENS_PER_MINUTE, now)
  const refusals = createRateLimit(1, now)

  /** At most one row a minute for a token and a reason. */
  const recordRefusal = async (id: string, outcome: string) => {
    if (refusals.take(`${id} ${outcome}`).allowed)
      await audit.record([{ phase: 'token_refused', outcome, detail: toTokenName(id) }]).catch(log.failure)
  }
  const touch = async ({ id, lastUsedAt = 0 }: AdminTokenRow) => {
    const at = steadyNow()
    // Reading must work while nothing can be written, for example on a full disk.
    if (at - lastUsedAt >= TOUCH_EVERY_MS) await table.touch(id, at).catch(() => {})
  }

  const requireFew = (name: string, address: string) => {
    if (known.get(name)) return
    const { allowed, resetS } = unknown.take(address)
    if (!allowed) throw tooManyTriesError(resetS * 1000)
  }
  /** The row of a token that is right and has not ended. */
  const findRow = async (text: string, address: string): Promise<AdminTokenRow> => {
    const token = parseAdminToken(text)
    const hash = toKeyHash(text, pepper())
    const name = hash.toString('base64')
    requireFew(name, address)
    const row = token && (await table.find(token.id))
    const problem = row && findProblem(row, hash)
    if (row && !problem) {
      known.set(name, true)
      return row
    }
    known.delete(name)
    if (row && problem) await recordRefusal(row.id, problem)
    throw new AdminError('token_refused', { headers: ['www-authenticate', 'Bearer'] })
  }

  return async (text, address) => {
    const row = await findRow(text, address)
    const name = toTokenName(row.id)
    if (!createAddressRule(row.allowedIps)(address)) {
      await recordRefusal(row.id, 'wrong_address')
      throw new AdminError('address_refused')
    }
    await touch(row)
    return { name, role: row.role, session: name, token: row.id }
  }
}

function findProblem(row: AdminTokenRow, hash: Uint8Array): string | undefined {
  if (!timingSafeEqual(hash, row.hash)) return 'wrong_secret'
  const state = toAdminTokenState(row)
  return state === 'active' ? undefined : state
}
