import { steadyNow } from '../contract/time.ts'
import type { KeyRow } from './key-rows.ts'
import { showOptions } from './options.ts'

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
