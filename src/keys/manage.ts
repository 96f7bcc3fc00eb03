import { recordBefore } from '../audit/record-before.ts'
import type { AuditEntry } from '../audit/row.ts'
import { steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import { createApiKey, toKeyHash } from './api-key.ts'
import type { KeyRow, KeyTable } from './key-table.ts'
import { listOptions, type OptionValues, showOptions, withDefaults } from './options.ts'

/** A key with its secret. The secret is shown once and never stored. */
export type NewKey = { readonly text: string; readonly row: KeyRow }

export type KeyOptions = Pick<KeyRow, 'name' | 'mode' | 'scopes' | 'expiresAt'> &
  Partial<OptionValues & Pick<KeyRow, 'lineage' | 'lifetimeMs'>>

/** What changes of keys need. The audit row is written first: see recordBefore. */
export type KeyDeps = {
  readonly store: { readonly keys: KeyTable }
  readonly keyring: Pick<Keyring, 'api-key-pepper'>
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
  /** Throws if the caller may not change or roll this key. */
  readonly allow?: (key: KeyRow) => void
}

export async function createKey(deps: KeyDeps, options: KeyOptions): Promise<NewKey> {
  const created = toNewKey(deps, options)
  const entry = toKeyEntry('key_created', created.row, toGrantedText(created.row))
  await recordBefore(deps.audit, entry, () => deps.store.keys.insert(created.row))
  return created
}

/** The options to change. An option that is present and undefined is removed; an absent one stays as it is. */
export type KeyChanges = Partial<
  Omit<KeyRow, 'id' | 'mode' | 'hash' | 'createdAt' | 'lifetimeMs' | 'revokedAt' | 'rolledTo' | 'lineage'>
>

/** Changes a key and leaves its secret as it is. Running servers follow as they do for a revocation. */
export async function changeKey(
  { store, audit, allow }: Pick<KeyDeps, 'store' | 'audit' | 'allow'>,
  id: string,
  changes: KeyChanges,
): Promise<KeyRow> {
  const before = await findChangeable(store, id)
  allow?.(before)
  const lifetime = 'expiresAt' in changes && { lifetimeMs: toLifetime(changes.expiresAt) }
  const after: KeyRow = { ...before, ...changes, ...lifetime }
  const changed = toChangedText(before, after)
  if (changed === undefined) throw new UserError(`Key ${id} has these options already. Nothing was changed.`)
  return recordBefore(audit, toKeyEntry('key_changed', before, changed), async () => {
    if (await store.keys.change(before, after)) return after
    throw new UserError(`Key ${id} was changed by another meanwhile, so nothing was changed. Try it again.`)
  })
}

async function findChangeable({ keys }: KeyDeps['store'], id: string): Promise<KeyRow> {
  const key = await keys.find(id)
  if (!key) throw unknownKeyError(id)
  if (toKeyState(key) !== 'active')
    throw new UserError(`Key ${id} has ended. Create a new one with: tabbat keys create`)
  if (key.rolledTo !== undefined)
    throw new UserError(`Key ${id} was rolled. Change its successor ${key.rolledTo}, or revoke it.`)
  return key
}

export async function revokeKey({ store, audit }: KeyDeps, id: string): Promise<void> {
  const key = await store.keys.find(id)
  if (!key) throw unknownKeyError(id)
  if (key.revokedAt !== undefined) throw new UserError(`Key ${id} was revoked before.`)
  await recordBefore(audit, toKeyEntry('key_revoked', key, toNameText(key)), () =>
    store.keys.revoke(id, steadyNow()),
  )
}

/**
 * Creates a successor with the same rights and limits, but for the changes, and ends the old key after the overlap. Both are
 * one transaction. The successor lives as long as the old key was made for.
 */
export async function rollKey(
  deps: KeyDeps,
  id: string,
  overlapMs: number,
  changes: Partial<Pick<KeyOptions, 'clientCerts' | 'expiresAt'>> = {},
): Promise<NewKey> {
  const { store, audit } = deps
  const old = await store.keys.find(id)
  if (!old) throw unknownKeyError(id)
  deps.allow?.(old)
  if (old.revokedAt !== undefined || (old.expiresAt ?? Number.POSITIVE_INFINITY) <= steadyNow())
    throw new UserError(`Key ${id} has ended. Create a new one with: tabbat keys create`)
  if (old.rolledTo !== undefined)
    throw new UserError(`Key ${id} was rolled before; its successor is ${old.rolledTo}.`)
  const expiry = 'expiresAt' in changes ? { lifetimeMs: undefined } : toExpiry(old)
  const successor = toNewKey(deps, { ...old, ...changes, ...expiry })
  const endsAt = steadyNow() + overlapMs
  const detail = `successor ${successor.row.id} ${toGrantedText(successor.row)}; ends at ${new Date(endsAt).toISOString()}`
  await recordBefore(audit, toKeyEntry('key_rolled', old, detail), () =>
    store.keys.roll(old, successor.row, endsAt),
  )
  return successor
}

/** The expiry of a successor. A key of an older version has no lifetime: its age at its expiry is the best guess. */
function toExpiry({ expiresAt, ...old }: KeyRow): Pick<KeyRow, 'expiresAt' | 'lifetimeMs'> {
  if (expiresAt === undefined) return { expiresAt, lifetimeMs: undefined }
  const lifetimeMs = old.lifetimeMs ?? expiresAt - old.createdAt
  return { expiresAt: steadyNow() + lifetimeMs, lifetimeMs }
}

/** What is stored of an expiry that was given now. */
const toLifetime = (expiresAt: number | undefined, now = steadyNow()): number | undefined =>
  expiresAt === undefined ? undefined : expiresAt - now

function toNewKey({ keyring }: KeyDeps, options: KeyOptions): NewKey {
  const { id, text } = createApiKey(options.mode)
  const createdAt = steadyNow()
  const { name, mode, scopes, expiresAt, lineage = id } = options
  const { lifetimeMs = toLifetime(expiresAt, createdAt) } = options
  const row: KeyRow = {
    id,
    mode,
    name,
    hash: toKeyHash(text, keyring['api-key-pepper']),
    scopes,
    createdAt,
    expiresAt,
    lifetimeMs,
    revokedAt: undefined,
    rolledTo: undefined,
    lineage,
    ...withDefaults(options),
  }
  return { text, row }
}

const toKeyEntry = (phase: string, { id, mode }: KeyRow, detail: string): AuditEntry => ({
  phase,
  key_id: id,
  mode,
  outcome: 'ok',
  detail,
})

const toNameText = ({ name }: KeyRow) => JSON.stringify({ name })

/** The id is repeated only if it looks like an id: it may be a whole key, pasted by mistake. */
const unknownKeyError = (id: string) =>
  new UserError(`There is no key ${/^[0-9A-Za-z]{8}$/.test(id) ? id : 'with this id'}. See: tabbat keys list`)

type KeyState = 'active' | 'revoked' | 'expired'

/** A key without its secret, for the CLI and the admin API. */
export function toKeyView(row: KeyRow) {
  const time = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString())
  return {
    id: row.id,
    name: row.name,
    mode: row.mode,
    state: toKeyState(row),
    scopes: [...row.scopes],
    ...showOptions(row),
    created_at: time(row.createdAt),
    expires_at: time(row.expiresAt),
    revoked_at: time(row.revokedAt),
    rolled_to: row.rolledTo ?? null,
  }
}

export function toKeyState(row: KeyRow): KeyState {
  if (row.revokedAt !== undefined) return 'revoked'
  return row.expiresAt !== undefined && row.expiresAt <= steadyNow() ? 'expired' : 'active'
}

/** What is recorded about a key in the audit log. */
const GRANTS = ['name', 'scopes', 'expires_at', ...listOptions().map(([field]) => field)] as const

/** As JSON, so that no name can be mistaken for the text around it. Options that are not used are left out. */
export function toGrantedText(row: KeyRow): string {
  const view = toKeyView(row)
  const granted = GRANTS.map((name) => [name, view[name]] as const).filter(([, value]) => isUsed(value))
  return `granted ${JSON.stringify(Object.fromEntries(granted))}`
}

/** The options that differ, before and after. Undefined: none does. */
function toChangedText(before: KeyRow, after: KeyRow): string | undefined {
  const [from, to] = [toKeyView(before), toKeyView(after)]
  const changed = GRANTS.filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]))
  if (changed.length === 0) return undefined
  const entries = changed.map((name) => [name, { from: from[name], to: to[name] }])
  return `changed ${JSON.stringify(Object.fromEntries(entries))}`
}

const isUsed = (value: unknown) =>
  value !== null && value !== false && !(Array.isArray(value) && value.length === 0)
