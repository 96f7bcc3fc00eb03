import type { AuditEntry } from '../audit/row.ts'
import { steadyNow } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import { type AccessTables, isEnded, isLower, type StoredAccess, toAccessKey } from './access.ts'
import type { KnownAccess, Noted } from './revocations-file.ts'

/**
 * What the file says and the database does not: it has ended; it is disabled; it ends earlier; its role is lower; or something else
 * about it was changed, which a person must look at.
 */
type Action = 'end now' | 'disable' | 'end earlier' | 'lower role' | 'look at'

type Revocation = {
  readonly action: Action
  readonly access: StoredAccess
  readonly noted: Noted
}

/** What was revoked, removed or restricted, and is not so in the database, as after a restore of an older backup. */
export const findRevocations = (known: KnownAccess, stored: readonly StoredAccess[]): Revocation[] =>
  stored
    .filter((access) => !isEnded(access))
    .flatMap((access) => {
      const noted = known.get(toAccessKey(access))
      return noted ? listActions(access, noted).map((action) => ({ action, access, noted })) : []
    })

function listActions(access: StoredAccess, noted: Noted): Action[] {
  if (isEnded(noted)) return ['end now']
  const actions: Action[] = []
  if (noted.state === 'disabled' && access.state === 'valid') actions.push('disable')
  if (noted.endsAt !== null && noted.endsAt < (access.endsAt ?? Number.POSITIVE_INFINITY))
    actions.push('end earlier')
  if (isLower(noted.role, access.role)) actions.push('lower role')
  if (noted.options !== access.options) actions.push('look at')
  return actions
}

/**
 * How many of them are open, if the database is an older copy than the files: it knows when it last noted something in one. Else a difference is a
 * later change, such as a role that was raised again. But what has ended never becomes valid again, so that is open even if a node
 * without these files has noted the older copy.
 */
export async function findOpenRevocations(
  { meta }: Pick<AccessTables, 'meta'>,
  known: KnownAccess,
  stored: readonly StoredAccess[],
): Promise<{ readonly open: number; readonly isOlder: boolean }> {
  const notedAt = Number((await meta.read()).revocations_noted_at ?? 0)
  const found = findRevocations(known, stored)
  const isOlder = toNewest(known) > notedAt
  const open = isOlder ? found : found.filter(({ action }) => action === 'end now')
  return { open: open.length, isOlder }
}

const toNewest = (known: KnownAccess) => known.values().reduce((newest, { at }) => Math.max(newest, at), 0)

/**
 * Before the lines of that time are written, so that a crash between leaves a database that is newer than its file. The time never
 * goes back, whatever the clocks of the nodes say: the lines of one would be newer than the database.
 */
export const markNoted = ({ meta }: Pick<AccessTables, 'meta'>, known: KnownAccess): Promise<number> =>
  meta.raise('revocations_noted_at', Math.max(steadyNow(), toNewest(known) + 1))

/** How many have ended in the database and are not in the files: these were deleted or cut, and may lack later ones as well. */
export const countUnnoted = (known: KnownAccess, stored: readonly StoredAccess[]) =>
  stored.filter((access) => isEnded(access) && !known.has(toAccessKey(access))).length

export type Applied = Revocation & {
  /** Why it was not applied: it must be looked at, or would leave no owner. */
  readonly left: string | undefined
}

/** Applies them. Call it in a transaction. */
export async function applyRevocations(
  tables: AccessTables,
  revocations: readonly Revocation[],
): Promise<Applied[]> {
  const applied: Applied[] = []
  for (const revocation of revocations)
    applied.push({ ...revocation, left: await tryToApply(tables, revocation) })
  return applied
}

/** The last owner is left: without an owner, no account could change accounts. */
async function tryToApply(tables: AccessTables, revocation: Revocation): Promise<string | undefined> {
  try {
    return await apply(tables, revocation)
  } catch (error) {
    if (error instanceof UserError) return error.message
    throw error
  }
}

async function apply(
  tables: AccessTables,
  { action, access, noted }: Revocation,
): Promise<string | undefined> {
  const { kind, reference } = access
  if (action === 'look at') return ADVICE[kind]
  if (action === 'disable') await tables.webhooks.disable(reference, noted.at)
  else if (action === 'lower role' && noted.role) await tables.accounts.setRole(reference, noted.role)
  else if (action === 'end earlier') await endEarlier(tables, reference, noted.endsAt ?? noted.at)
  else if (kind === 'key') await tables.keys.revoke(reference, noted.at)
  else if (kind === 'token') await tables.adminTokens.revoke(reference, noted.at)
  else if (kind === 'account') await tables.accounts.remove(reference)
  else await tables.webhooks.remove(reference)
  return undefined
}

async function endEarlier({ keys }: AccessTables, id: string, expiresAt: number): Promise<void> {
  const key = await keys.find(id)
  if (key) await keys.change(key, { ...key, expiresAt })
}

const ADVICE: Readonly<Record<StoredAccess['kind'], string>> = {
  key: 'it was rolled, or its options were changed. See: tabbat keys list',
  token: 'it was changed. See: tabbat tokens list',
  account:
    'its password was changed, and the old one is valid again. Make a link for a new one: tabbat admin reset NAME',
  endpoint: 'its address, events or secret were changed. See: tabbat webhooks list',
}

/** One line for people. */
export function toRevocationText({ action, access, noted, left }: Applied): string {
  const { kind, reference, name } = access
  const what = reference === name ? `${kind} ${name}` : `${kind} ${reference} (${name})`
  return left === undefined ? `${what}: ${toDone(action, noted)}` : `${what}: not changed: ${left}`
}

function toDone(action: Action, { state, endsAt, role, at }: Noted): string {
  if (action === 'end now') return `${state} again, as noted on ${new Date(at).toISOString()}`
  if (action === 'disable') return 'disabled again'
  return action === 'lower role' ? `${role} again` : `ends on ${new Date(endsAt ?? at).toISOString()} again`
}

const PHASES = {
  key: { 'end now': 'key_revoked', other: 'key_changed' },
  token: { 'end now': 'token_revoked', other: 'token_revoked' },
  account: { 'end now': 'account_removed', other: 'role_changed' },
  endpoint: { 'end now': 'webhook_deleted', other: 'webhook_disabled' },
} as const

/** The audit rows of those that were applied. */
export const toRevocationEntries = (applied: readonly Applied[]): AuditEntry[] =>
  applied
    .filter(({ left }) => left === undefined)
    .map((each) => ({
      phase: PHASES[each.access.kind][each.action === 'end now' ? 'end now' : 'other'],
      outcome: 'ok',
      ...(each.access.kind === 'key' && { key_id: each.access.reference }),
      detail: `${toRevocationText(each)}, after a restore`,
    }))
