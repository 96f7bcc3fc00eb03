/** The size of the database at the end of each day (UTC), to tell how fast it grows. */
export const storageSizes = {
  id: 41,
  sql: ['CREATE TABLE storage_sizes (day BIGINT PRIMARY KEY, bytes BIGINT NOT NULL)'],
} as const
