/**
 * The first key of a chain of rolled keys, whose counters all of them share. Null for a key that was not rolled from another,
 * and for one that was rolled before this migration: its counters are under its own id.
 */
export const keyLineage = {
  id: 9,
  sql: ['ALTER TABLE api_keys ADD COLUMN lineage TEXT'],
} as const
