/**
 * The first key of a line of rolled keys: what one of them uses up is used up for all. Absent for a key that succeeds none,
 * and for one that was rolled before this migration: its counters were begun under its own id.
 */
export const keyLineage = {
  id: 9,
  sql: ['ALTER TABLE api_keys ADD COLUMN lineage TEXT'],
} as const
