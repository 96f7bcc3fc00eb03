/** A filter of the ids and references of each block of the request log. A block without one is read. */
export const requestFilters = {
  id: 56,
  sql: [],
  sqlite: ['ALTER TABLE request_blocks ADD COLUMN filter BLOB'],
  postgres: [
    'ALTER TABLE request_blocks ADD COLUMN filter BYTEA',
    // Random bits cannot be compressed.
    'ALTER TABLE request_blocks ALTER COLUMN filter SET STORAGE EXTERNAL',
  ],
} as const
