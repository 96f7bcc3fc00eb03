import type { Database } from './database.ts'

const HEARTBEAT = 'UPDATE audit_chains SET beat_at = $3 WHERE chain = $1 AND owner = $2'
/** In PostgreSQL a single table can be locked: these inserts of no row wait for the same locks as a verification does. */
const HEARTBEAT_WITH_LOCKS = `WITH log AS (INSERT INTO audit SELECT * FROM audit WHERE false),
  tallies AS (INSERT INTO statistics SELECT * FROM statistics WHERE false) ${HEARTBEAT}`

export const prepareHeartbeat = (database: Database) =>
  database.prepare(database.dialect === 'postgres' ? HEARTBEAT_WITH_LOCKS : HEARTBEAT)
