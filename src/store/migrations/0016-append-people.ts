/**
 * In SQLite, the people that a key has asked about are only appended, without an index on keyed hashes: such an index writes a
 * random page for almost every row. See known-people.ts. The index on the day stays; its rows are added at its end.
 *
 * SQLite would overwrite the old pages with zeros. They hold nothing that the new table does not hold.
 */
export const appendPeople = {
  id: 16,
  sql: [],
  sqlite: [
    'PRAGMA secure_delete = FAST',
    'CREATE TABLE appended_subjects (key_id TEXT NOT NULL, day BIGINT NOT NULL, subject BYTEA NOT NULL)',
    'INSERT INTO appended_subjects (key_id, day, subject) SELECT key_id, day, subject FROM key_subjects ORDER BY rowid',
    'DROP TABLE key_subjects',
    'ALTER TABLE appended_subjects RENAME TO key_subjects',
    'CREATE INDEX key_subjects_day ON key_subjects (day)',
    'PRAGMA secure_delete = ON',
  ],
} as const
