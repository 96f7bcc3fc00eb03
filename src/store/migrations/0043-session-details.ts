/**
 * How a session was opened, and from where, for the list of sessions. `confirmed_at` is when its account last entered the
 * password again. All are null in sessions that an older node opens.
 */
export const sessionDetails = {
  id: 43,
  sql: [
    'ALTER TABLE sessions ADD COLUMN method TEXT',
    'ALTER TABLE sessions ADD COLUMN address TEXT',
    'ALTER TABLE sessions ADD COLUMN browser TEXT',
    'ALTER TABLE sessions ADD COLUMN confirmed_at BIGINT',
  ],
} as const
