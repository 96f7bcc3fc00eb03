/**
 * Audit rows by person, without an insert into a random page for every row: a block lists the subjects of up to 10 000 rows of
 * a chain, and is written once; see subject-blocks.ts. The rows after the last block of a chain are scanned. Blocks can be
 * rebuilt from the rows.
 *
 * SQLite would overwrite every page of the old index with zeros. It holds nothing that the table does not hold.
 */
export const subjectBlocks = {
  id: 15,
  sql: [
    `CREATE TABLE audit_subject_blocks (
      chain TEXT NOT NULL,
      first_sequence BIGINT NOT NULL,
      last_sequence BIGINT NOT NULL,
      PRIMARY KEY (chain, first_sequence)
    )`,
    `CREATE TABLE audit_subject_pages (
      chain TEXT NOT NULL,
      first_sequence BIGINT NOT NULL,
      bucket BIGINT NOT NULL,
      entries BYTEA NOT NULL,
      PRIMARY KEY (chain, first_sequence, bucket)
    )`,
  ],
  sqlite: ['PRAGMA secure_delete = FAST', 'DROP INDEX audit_subject', 'PRAGMA secure_delete = ON'],
  postgres: ['DROP INDEX audit_subject'],
} as const
