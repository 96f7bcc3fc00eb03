import { steadyNow } from '../contract/time.ts'
import type { AdminTokenRow } from './admin-token-table.ts'

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

export function toAdminTokenState(row: AdminTokenRow): 'active' | 'revoked' | 'expired' {
  if (row.revokedAt !== undefined) return 'revoked'
  return row.expiresAt <= steadyNow() ? 'expired' : 'active'
}
