/**
 * Audit rows by consent reference, in blocks as those of people: see migration 15 and subject-blocks.ts. Blocks can be rebuilt
 * from the rows.
 */
export const consentBlocks = {
  id: 48,
  sql: [
    `CREATE TABLE audit_consent_blocks (
      chain TEXT NOT NULL,
      first_sequence BIGINT NOT NULL,
      last_sequence BIGINT NOT NULL,
      PRIMARY KEY (chain, first_sequence)
    )`,
    `CREATE TABLE audit_consent_pages (
      chain TEXT NOT NULL,
      first_sequence BIGINT NOT NULL,
      bucket BIGINT NOT NULL,
      entries BYTEA NOT NULL,
      PRIMARY KEY (chain, first_sequence, bucket)
    )`,
  ],
} as const
