import type { Database } from './database.ts'

const BEAT = 'UPDATE audit_chains SET beat_at = $3 WHERE chain = $1 AND owner = $2'
/** In PostgreSQL a table can be locked alone: these inserts of no row wait for the same locks as those of a verification. */
const BEAT_WITH_LOCKS = `WITH log AS (INSERT INTO audit SELECT * FROM audit WHERE false),
  tallies AS (INSERT INTO statistics SELECT * FROM statistics WHERE false) ${BEAT}`

export const prepareBeat = (database: Database) =>
  database.prepare(database.dialect === 'postgres' ? BEAT_WITH_LOCKS : BEAT)
