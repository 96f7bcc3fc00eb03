import type { Mode, Scope } from '../contract/scope.ts'
import type { Row, Value } from '../database/database.ts'
import { listOptions, type OptionValues, readOptions } from './options.ts'

export type KeyRow = OptionValues & {
  readonly id: string
  readonly mode: Mode
  readonly name: string
  readonly hash: Uint8Array
  readonly scopes: readonly Scope[]
  readonly createdAt: number
  readonly expiresAt: number | undefined
  /** The lifetime that was last given to it. Undefined: it has none. */
  readonly lifetimeMs?: number | undefined
  readonly revokedAt: number | undefined
  readonly rolledTo: string | undefined
  /** Id of the first key of its lineage: a key and the keys it was rolled from share their counters. */
  readonly lineage: string
}

/** Listed: PostgreSQL fails a prepared `SELECT *` when another node adds a column. */
export const KEY_COLUMN_NAMES: readonly string[] = [
  'id',
  'mode',
  'name',
  'hash',
  'scopes',
  'created_at',
  'expires_at',
  'lifetime_ms',
  'revoked_at',
  'rolled_to',
  'lineage',
  ...listOptions().map(([field]) => field),
]
export const KEY_COLUMNS = KEY_COLUMN_NAMES.join(', ')

/** In the order of the columns. */
export const toKeyValues = (row: KeyRow): Value[] => [
  row.id,
  row.mode,
  row.name,
  row.hash,
  row.scopes.join(','),
  row.createdAt,
  row.expiresAt ?? null,
  row.lifetimeMs ?? null,
  row.revokedAt ?? null,
  row.rolledTo ?? null,
  row.lineage,
  ...listOptions().map(([, { property, toColumn }]) => toColumn(row[property])),
]

export const toKeyRow = (row: Row): KeyRow => ({
  id: String(row.id),
  mode: row.mode as Mode,
  name: String(row.name),
  hash: row.hash as Uint8Array,
  scopes: String(row.scopes).split(',') as Scope[],
  createdAt: Number(row.created_at),
  expiresAt: toOptionalNumber(row.expires_at),
  lifetimeMs: toOptionalNumber(row.lifetime_ms),
  revokedAt: toOptionalNumber(row.revoked_at),
  rolledTo: row.rolled_to === null ? undefined : String(row.rolled_to),
  lineage: String(row.lineage ?? row.id),
  ...readOptions(row),
})

export const toOptionalNumber = (value: unknown) =>
  value === null || value === undefined ? undefined : Number(value)
