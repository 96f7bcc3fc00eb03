/** Who answers for a key, and a note about it. */
export const keyNotes = {
  id: 49,
  sql: ['ALTER TABLE api_keys ADD COLUMN owner TEXT', 'ALTER TABLE api_keys ADD COLUMN note TEXT'],
} as const
