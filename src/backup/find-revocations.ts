import type { AuditEntry } from '../audit/row.ts'
import type { CheckpointFolders } from '../audit/settings.ts'
import { readSignedSize } from '../audit/signed-file.ts'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import type { Log } from '../telemetry/log.ts'
import {
  type AccessTables,
  appendAccess,
  fold,
  isEnded,
  isLower,
  type KnownAccess,
  type Noted,
  REVOCATIONS_FILE,
  readAccess,
  readRevocationsFile,
  type StoredAccess,
  scanRevocations,
  toAccessKey,
} from './revocations-file.ts'

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

type KeepDeps = {
  readonly tables: AccessTables
  readonly keyring: Pick<Keyring, 'revocation'>
  readonly config: CheckpointFolders
}

export const toRevocationsFolder = ({ checkpointDir, dataDir }: KeepDeps['config']) =>
  checkpointDir ?? dataDir

/** `open`: how many revocations of the file are not in the database. If that is an older copy, nothing is added. */
type Kept = { readonly open: number }

/** Adds to the file what has changed. Reads the file only if another process has written to it. */
export function createKeepRevocations({ tables, keyring, config }: KeepDeps): () => Promise<Kept> {
  const folder = toRevocationsFolder(config)
  let known: KnownAccess = new Map()
  let size = -1
  return async () => {
    const present = await readSignedSize(folder, REVOCATIONS_FILE)
    if (present !== size) known = await readKnown(folder, keyring)
    size = present
    const access = await readAccess(tables, keyring)
    const { open, isOlder } = await findOpenRevocations(tables, known, access)
    if (open > 0 && isOlder) return { open }
    const unnoted = access.filter((each) => !isNoted(known, each))
    if (unnoted.length === 0) return { open }
    const at = await markNoted(tables, known)
    const added = unnoted.map((each) => ({ ...toNoted(each), at }))
    await appendAccess(folder, keyring, added)
    known = fold([...known.values(), ...added])
    size = await readSignedSize(folder, REVOCATIONS_FILE)
    return { open }
  }
}

async function readKnown(folder: string, keyring: KeepDeps['keyring']): Promise<KnownAccess> {
  const file = await readRevocationsFile(folder)
  return fold(file ? scanRevocations(file, keyring).noted : [])
}

const toNoted = ({ kind, id, state, endsAt, role, options }: StoredAccess): Omit<Noted, 'at'> => ({
  kind,
  id,
  state,
  endsAt,
  role,
  options,
})

function isNoted(known: KnownAccess, access: StoredAccess): boolean {
  const noted = known.get(toAccessKey(access))
  if (!noted) return false
  // What has ended stays so in the file.
  if (isEnded(noted)) return true
  const { at: _, ...last } = noted
  return JSON.stringify(toNoted(access)) === JSON.stringify(toNoted({ ...access, ...last }))
}

export type RevocationsKeeper = {
  /** Adds what has changed now. Never fails: the log says what went wrong. */
  readonly keep: () => Promise<void>
  readonly stop: () => Promise<void>
}

type KeeperDeps = KeepDeps & {
  readonly log: Pick<Log, 'event' | 'failure'>
  /** The first one also adds what all nodes have changed, now and every minute. */
  readonly workerNumber: number
}

export function keepRevocationsFile(deps: KeeperDeps): RevocationsKeeper {
  const { log, config } = deps
  const add = createKeepRevocations(deps)
  let problem = ''
  let last: Promise<void> = Promise.resolve()
  const step = async () => {
    const folder = toRevocationsFolder(config)
    const before = problem
    problem = await add().then(
      ({ open }) => (open > 0 ? 'revocations_open' : ''),
      (error: NodeJS.ErrnoException) => {
        log.failure(error)
        return 'revocations_file_failed'
      },
    )
    if (problem !== before)
      log.event(problem === '' ? 'info' : 'error', problem || 'revocations_file_written', { folder })
  }
  const keep = () => {
    last = last.then(step)
    return last
  }
  const isFirst = deps.workerNumber === 1
  if (isFirst) void keep()
  const timer = isFirst ? setInterval(keep, MINUTE_MS).unref() : undefined
  return {
    keep,
    stop: () => {
      clearInterval(timer)
      return last
    },
  }
}
