import type { KeyRow } from '../store/key-table.ts'
import { toKeyView } from './key-view.ts'

/** What a key may do, as the audit log records it. */
const GRANTS = [
  'name',
  'scopes',
  'allowed_ips',
  'client_certs',
  'hide',
  'reveal',
  'subjects_per_day',
  'requires_consent',
  'async_when_down',
  'require_match',
  'expires_at',
] as const

/** As JSON, so that no name can be mistaken for the text around it. Options that are not used are left out. */
export function toGrantedText(row: KeyRow): string {
  const view = toKeyView(row)
  const granted = GRANTS.map((name) => [name, view[name]] as const).filter(([, value]) => isUsed(value))
  return `granted ${JSON.stringify(Object.fromEntries(granted))}`
}

const isUsed = (value: unknown) =>
  value !== null && value !== false && !(Array.isArray(value) && value.length === 0)
