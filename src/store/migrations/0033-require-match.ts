/** The details that must match for a key: name, dob or both. Null: none. */
export const requireMatch = {
  id: 33,
  sql: ['ALTER TABLE api_keys ADD COLUMN require_match TEXT'],
} as const
