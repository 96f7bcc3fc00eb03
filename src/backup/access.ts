import type { AccountTable } from '../accounts/account-table.ts'
import type { AdminTokenTable } from '../accounts/admin-token-table.ts'
import { isAtLeast, ROLES, type Role } from '../contract/role.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { toTextMac } from '../crypto/mac.ts'
import type { MetaTable } from '../database/meta-table.ts'
import type { KeyRow } from '../keys/key-rows.ts'
import type { KeyTable } from '../keys/key-table.ts'
import { listOptions } from '../keys/options.ts'
import type { RemovalTable } from '../ledger/removal-table.ts'
import type { WebhookTable } from '../webhooks/webhook-table.ts'

export const KINDS = ['key', 'token', 'account', 'endpoint'] as const
export const STATES = ['valid', 'disabled', 'revoked', 'removed'] as const

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

export type AccessTables = {
  readonly keys: KeyTable
  readonly adminTokens: AdminTokenTable
  readonly accounts: AccountTable
  readonly webhooks: WebhookTable
  readonly removals: RemovalTable
  readonly meta: MetaTable
}

export const isEnded = ({ state }: Pick<Access, 'state'>) => state === 'revoked' || state === 'removed'

const ENDED = { endsAt: null, role: null, options: '' } as const

/** Everything that the database knows, also what has ended. */
export async function readAccess(
  { keys, adminTokens, accounts, webhooks, removals }: AccessTables,
  keyring: Pick<Keyring, 'revocation'>,
): Promise<StoredAccess[]> {
  const toHash = (...parts: readonly unknown[]) =>
    toTextMac(keyring.revocation, JSON.stringify(parts)).slice(0, 32)
  const toAccountId = (name: string, createdAt: number) => toHash('account', name, createdAt)
  const toRevoked = (revokedAt: number | undefined, valid: Omit<Access, 'kind' | 'id' | 'state'>) =>
    revokedAt === undefined
      ? ({ ...valid, state: 'valid', endedAt: undefined } as const)
      : ({ ...ENDED, state: 'revoked', endedAt: revokedAt } as const)
  return [
    ...(await keys.list()).map(
      (row): StoredAccess => ({
        ...{ kind: 'key', id: row.id, reference: row.id, name: row.name },
        ...toRevoked(row.revokedAt, {
          endsAt: row.expiresAt ?? null,
          role: null,
          options: toHash(...listRights(row)),
        }),
      }),
    ),
    ...(await adminTokens.list()).map(
      ({ id, name, role, revokedAt }): StoredAccess => ({
        ...{ kind: 'token', id, reference: id, name },
        ...toRevoked(revokedAt, { endsAt: null, role, options: '' }),
      }),
    ),
    ...(await accounts.list()).map(
      ({ name, role, createdAt, password }): StoredAccess => ({
        ...{ kind: 'account', id: toAccountId(name, createdAt), reference: name, name },
        ...{ state: 'valid', endedAt: undefined, endsAt: null, role, options: toHash(password) },
      }),
    ),
    ...(await webhooks.list()).map(
      ({ id, name, url, secret, events, lineages, disabledReason }): StoredAccess => ({
        ...{ kind: 'endpoint', id, reference: id, name, endedAt: undefined, endsAt: null, role: null },
        state: disabledReason === 'operator' ? 'disabled' : 'valid',
        options: toHash(url, Buffer.from(secret).toString('hex'), events, lineages),
      }),
    ),
    ...(await removals.list()).map(
      ({ kind, id, createdAt, removedAt }): StoredAccess => ({
        ...{ kind, id: kind === 'account' ? toAccountId(id, createdAt) : id, reference: id, name: id },
        ...{ ...ENDED, state: 'removed', endedAt: removedAt },
      }),
    ),
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

export const isRole = (value: unknown): value is Role => ROLES.includes(value as Role)
