import { steadyNow } from '../contract/time.ts'
import type { KeyRow } from '../store/key-rows.ts'
import { SUBJECTS_PER_DAY } from './api-key.ts'

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
    allowed_ips: row.allowedIps ? [...row.allowedIps] : null,
    client_certs: row.clientCerts ? [...row.clientCerts] : null,
    hide: [...row.hide],
    reveal: [...row.reveal],
    requires_consent: row.requiresConsent,
    async_when_down: row.asyncWhenDown,
    require_match: row.requireMatch ?? null,
    owner: row.owner ?? null,
    note: row.note ?? null,
    subjects_per_day: row.subjectsPerDay ?? SUBJECTS_PER_DAY,
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
