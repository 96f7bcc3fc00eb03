/** A chain that is not extended any more is retired: checkpoints need not repeat its last row for ever. */
export const retiredChains = {
  id: 17,
  sql: ['ALTER TABLE audit_chains ADD COLUMN retired_at BIGINT'],
} as const
