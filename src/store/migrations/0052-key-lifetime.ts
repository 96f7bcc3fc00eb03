/** How long a key was made for when its expiry was last set; a rolled key's successor lives as long. Null: not known. */
export const keyLifetime = {
  id: 52,
  sql: ['ALTER TABLE api_keys ADD COLUMN lifetime_ms BIGINT'],
} as const
