import type { AccountTable } from '../accounts/account-table.ts'
import type { AdminTokenTable } from '../accounts/admin-token-table.ts'
import {
  appendSigned,
  readSigned,
  type SignedFile,
  type SignedLine,
  scanSigned,
} from '../audit/signed-file.ts'
import { isAtLeast, ROLES, type Role } from '../contract/role.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { toTextMac } from '../crypto/mac.ts'
import type { MetaTable } from '../database/meta-table.ts'
import { UserError } from '../errors.ts'
import type { KeyRow, KeyTable } from '../keys/key-table.ts'
import { listOptions } from '../keys/options.ts'
import type { RemovalTable } from '../ledger/removal-table.ts'

/**
 * What gives access, and how far, in a file outside the database: `revocations.log` beside `checkpoints.log`. After a restore of an
 * older backup it shows what was revoked, removed or restricted since then. A line is a JSON object with a MAC, about one
 * key, token, account or endpoint; the last one holds, but what has ended stays ended. No secret and no name is in it.
 */

export const REVOCATIONS_FILE = 'revocations.log'

/** A line: how it was from that time on. */
export type Noted = Access & { readonly at: number }

/** By kind and id. */
export type KnownAccess = ReadonlyMap<string, Noted>

export const appendAccess = (
  folder: string,
  keyring: Pick<Keyring, 'revocation'>,
  noted: readonly Noted[],
): Promise<void> => appendSigned(folder, REVOCATIONS_FILE, keyring.revocation, noted.map(toLine))

const toLine = ({ kind, id, state, endsAt, role, options, at }: Noted) => ({
  kind,
  id,
  state,
  ends_at: toTime(endsAt),
  role,
  options,
  at: toTime(at),
})

const toTime = (at: number | null) => (at === null ? null : new Date(at).toISOString())

function toNoted({ kind, id, state, ends_at, role, options, at }: SignedLine): Noted | undefined {
  const [knownKind, knownState] = [KINDS.find((each) => each === kind), STATES.find((each) => each === state)]
  const [endsAt, time] = [ends_at === null ? null : Date.parse(String(ends_at)), Date.parse(String(at))]
  if (!knownKind || !knownState || Number.isNaN(time) || Number.isNaN(endsAt)) return undefined
  if (typeof id !== 'string' || typeof options !== 'string' || !(role === null || isRole(role)))
    return undefined
  return { kind: knownKind, id, state: knownState, endsAt, role, options, at: time }
}

/** The lines of a file, or of `revocations.log` in a folder. Undefined if there is none. */
export const readRevocationsFile = (path: string): Promise<SignedFile | undefined> =>
  readSigned(path, REVOCATIONS_FILE)

/** What the files say in the end. Refuses a line that this database has not signed. */
export function parseRevocations(
  files: readonly SignedFile[],
  keyring: Pick<Keyring, 'revocation'>,
): KnownAccess {
  const lines = files.flatMap((file) => {
    const { noted, unsignedLine } = scanRevocations(file, keyring)
    if (unsignedLine === undefined) return noted
    throw new UserError(
      `Line ${unsignedLine} of ${file.file} is not one that this database has signed: it was changed, or belongs to another root key. Give the right file with --revocations. Nothing was changed.`,
    )
  })
  return fold(lines)
}

export function scanRevocations(file: SignedFile, keyring: Pick<Keyring, 'revocation'>) {
  const { values, unsignedLine } = scanSigned(file, keyring.revocation, toNoted)
  return { noted: values, unsignedLine }
}

/** Files of several nodes say the same at different times. */
export function fold(lines: readonly Noted[]): KnownAccess {
  const known = new Map<string, Noted>()
  for (const line of lines.toSorted((one, other) => one.at - other.at)) {
    const before = known.get(toAccessKey(line))
    if (!before || !isEnded(before)) known.set(toAccessKey(line), line)
  }
  return known
}

const KINDS = ['key', 'token', 'account', 'endpoint'] as const
const STATES = ['valid', 'disabled', 'revoked', 'removed'] as const

/** What gives access, or gets data: an API key, a token of the admin API, an account of the console, a webhook endpoint. */
export type Access = {
  readonly kind: (typeof KINDS)[number]
  /** Names no person: the public id, or a keyed hash of the name and the creation of an account. */
  readonly id: string
  /** What was revoked or removed stays so. */
  readonly state: (typeof STATES)[number]
  readonly endsAt: number | null
  readonly role: Role | null
  /** A keyed hash of what else decides what it may do: the options of a key, the password of an account. */
  readonly options: string
}

/** With what is known of it in the database only. */
export type StoredAccess = Access & {
  /** What the tables know it by: the id, or the name of an account. */
  readonly reference: string
  readonly name: string
  /** When it was revoked or removed. */
  readonly endedAt: number | undefined
}

/** The table of webhook endpoints, as far as it is needed here. */
type EndpointTable = {
  readonly list: () => Promise<readonly Endpoint[]>
  readonly disable: (id: string, at: number) => Promise<unknown>
  readonly remove: (id: string) => Promise<unknown>
}

type Endpoint = {
  readonly id: string
  readonly name: string
  readonly url: string
  readonly secret: Uint8Array
  readonly events: readonly string[]
  readonly lineages: readonly string[]
  readonly disabledReason?: string | undefined
}

export type AccessTables = {
  readonly keys: KeyTable
  readonly adminTokens: AdminTokenTable
  readonly accounts: AccountTable
  readonly webhooks: EndpointTable
  readonly removals: RemovalTable
  readonly meta: MetaTable
}

export const isEnded = ({ state }: Pick<Access, 'state'>) => state === 'revoked' || state === 'removed'

/** Everything that the database knows, also what has ended. */
export async function readAccess(
  { keys, adminTokens, accounts, webhooks, removals }: AccessTables,
  keyring: Pick<Keyring, 'revocation'>,
): Promise<StoredAccess[]> {
  const base = { endedAt: undefined, endsAt: null, role: null, options: '' } as const
  const toHash = (...parts: readonly unknown[]) =>
    toTextMac(keyring.revocation, JSON.stringify(parts)).slice(0, 32)
  const toAccountId = (name: string, createdAt: number) => toHash('account', name, createdAt)
  const toRevoked = (revokedAt: number | undefined, valid: Omit<Access, 'kind' | 'id' | 'state'>) =>
    revokedAt === undefined
      ? ({ ...base, ...valid, state: 'valid' } as const)
      : ({ ...base, state: 'revoked', endedAt: revokedAt } as const)
  return [
    ...(await keys.list()).map((row): StoredAccess => {
      const valid = { endsAt: row.expiresAt ?? null, role: null, options: toHash(...listRights(row)) }
      return {
        kind: 'key',
        id: row.id,
        reference: row.id,
        name: row.name,
        ...toRevoked(row.revokedAt, valid),
      }
    }),
    ...(await adminTokens.list()).map(({ id, name, role, revokedAt }): StoredAccess => {
      const valid = { endsAt: null, role, options: '' }
      return { kind: 'token', id, reference: id, name, ...toRevoked(revokedAt, valid) }
    }),
    ...(await accounts.list()).map(({ name, role, createdAt, password }): StoredAccess => {
      const id = toAccountId(name, createdAt)
      return {
        ...base,
        kind: 'account',
        id,
        reference: name,
        name,
        state: 'valid',
        role,
        options: toHash(password),
      }
    }),
    ...(await webhooks.list()).map(
      ({ id, name, url, secret, events, lineages, disabledReason }): StoredAccess => ({
        ...base,
        kind: 'endpoint',
        id,
        reference: id,
        name,
        state: disabledReason === 'operator' ? 'disabled' : 'valid',
        options: toHash(url, Buffer.from(secret).toString('hex'), events, lineages),
      }),
    ),
    ...(await removals.list()).map(({ kind, id: reference, createdAt, removedAt }): StoredAccess => {
      const id = kind === 'account' ? toAccountId(reference, createdAt) : reference
      return { ...base, kind, id, reference, name: reference, state: 'removed', endedAt: removedAt }
    }),
  ]
}

/** What a key may do. Texts about it decide nothing. An option that it does not have is left out, so that a new one changes no hash. */
const listRights = (row: KeyRow) => [
  row.scopes.toSorted(),
  row.rolledTo ?? null,
  ...listOptions().flatMap(([field, { kind, property, none }]) => {
    const value = row[property]
    const sorted = Array.isArray(value) ? value.toSorted() : value
    return kind === 'text' || JSON.stringify(value) === JSON.stringify(none) ? [] : [[field, sorted]]
  }),
]

export const toAccessKey = ({ kind, id }: Pick<Access, 'kind' | 'id'>) => `${kind} ${id}`

/** Whether a role gives less than another. Without a role, no. */
export const isLower = (role: Role | null, than: Role | null) =>
  role !== null && than !== null && role !== than && isAtLeast(than, role)

const isRole = (value: unknown): value is Role => ROLES.includes(value as Role)
