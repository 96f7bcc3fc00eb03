import type { RequireMatch } from '../contract/person-details.ts'
import type { Mode, Scope } from '../contract/scope.ts'
import type { Row, Value } from '../database/database.ts'

export type KeyRow = {
  readonly id: string
  readonly mode: Mode
  readonly name: string
  readonly hash: Uint8Array
  readonly scopes: readonly Scope[]
  readonly allowedIps: readonly string[] | undefined
  /** Fingerprints of the TLS client certificates it may be used with, as sha256:<hex>. */
  readonly clientCerts: readonly string[] | undefined
  readonly createdAt: number
  readonly expiresAt: number | undefined
  /** The lifetime that was last given to it. Undefined: it has none. */
  readonly lifetimeMs?: number | undefined
  readonly revokedAt: number | undefined
  readonly rolledTo: string | undefined
  /** Id of the first key of its lineage: a key and the keys it was rolled from share their counters. */
  readonly lineage: string
  /** Dotted names of fields to hide in addition to the default, or to show in spite of it. */
  readonly hide: readonly string[]
  readonly reveal: readonly string[]
  /** Every verification must name the customer's consent. */
  readonly requiresConsent: boolean
  /** Distinct people that the key may ask about in a day. */
  readonly subjectsPerDay: number | undefined
  /** A verification becomes pending when no source can answer. */
  readonly asyncWhenDown: boolean
  /** Details that every verification must give and that must match. */
  readonly requireMatch?: RequireMatch | undefined
  /** Who answers for the key, and a note about it. */
  readonly owner?: string | undefined
  readonly note?: string | undefined
}

/** Listed: PostgreSQL fails a prepared `SELECT *` when another node adds a column. */
export const KEY_COLUMNS = `id, mode, name, hash, scopes, allowed_ips, created_at, expires_at, revoked_at, rolled_to,
  hide, reveal, subjects_per_day, requires_consent, lineage, client_certs, async_when_down, require_match,
  owner, note, lifetime_ms`
export const KEY_COLUMN_NAMES = KEY_COLUMNS.split(',').map((column) => column.trim())

/** In the order of the columns. */
export const toKeyValues = (row: KeyRow): Value[] => [
  row.id,
  row.mode,
  row.name,
  row.hash,
  row.scopes.join(','),
  row.allowedIps?.join(',') ?? null,
  row.createdAt,
  row.expiresAt ?? null,
  row.revokedAt ?? null,
  row.rolledTo ?? null,
  row.hide.join(',') || null,
  row.reveal.join(',') || null,
  row.subjectsPerDay ?? null,
  row.requiresConsent ? 1 : 0,
  row.lineage,
  row.clientCerts?.join(',') ?? null,
  row.asyncWhenDown ? 1 : 0,
  row.requireMatch ?? null,
  row.owner ?? null,
  row.note ?? null,
  row.lifetimeMs ?? null,
]

export const toOptionalNumber = (value: unknown) =>
  value === null || value === undefined ? undefined : Number(value)

export function toKeyRow(row: Row): KeyRow {
  return {
    id: String(row.id),
    mode: row.mode as Mode,
    name: String(row.name),
    hash: row.hash as Uint8Array,
    scopes: String(row.scopes).split(',') as Scope[],
    allowedIps: row.allowed_ips === null ? undefined : String(row.allowed_ips).split(','),
    clientCerts: row.client_certs === null ? undefined : String(row.client_certs).split(','),
    createdAt: Number(row.created_at),
    expiresAt: toOptionalNumber(row.expires_at),
    revokedAt: toOptionalNumber(row.revoked_at),
    rolledTo: row.rolled_to === null ? undefined : String(row.rolled_to),
    lineage: String(row.lineage ?? row.id),
    hide: toList(row.hide),
    reveal: toList(row.reveal),
    subjectsPerDay: toOptionalNumber(row.subjects_per_day),
    asyncWhenDown: Number(row.async_when_down) === 1,
    requireMatch: row.require_match === null ? undefined : (row.require_match as RequireMatch),
    requiresConsent: Number(row.requires_consent) === 1,
    owner: toOptionalText(row.owner),
    note: toOptionalText(row.note),
    lifetimeMs: toOptionalNumber(row.lifetime_ms),
  }
}

const toOptionalText = (value: unknown) => (typeof value === 'string' ? value : undefined)

const toList = (text: unknown) => (typeof text === 'string' ? text.split(',') : [])
