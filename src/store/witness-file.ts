import { closeSync, existsSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { UserError } from '../errors.ts'
import type { Checkpoint } from './audit-table.ts'

/** A SQLite database of a witness, without a write-ahead log: it may be on a network file system. */
export type WitnessFile = {
  /** Durable when it returns. What it has already is skipped. */
  readonly append: (checkpoints: readonly Checkpoint[]) => void
  readonly pages: () => Generator<Checkpoint[]>
  readonly close: () => void
}

const TABLE = 'tabbat_checkpoints'
const BUSY_WAIT_MS = 5000
const PAGE_ROWS = 500

const SCHEMA = `
  PRAGMA journal_mode = DELETE;
  PRAGMA synchronous = EXTRA;
  PRAGMA trusted_schema = OFF;
  CREATE TABLE IF NOT EXISTS ${TABLE} (
    time TEXT NOT NULL,
    body TEXT NOT NULL,
    signature TEXT PRIMARY KEY,
    received_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
  );
  CREATE INDEX IF NOT EXISTS ${TABLE}_time ON ${TABLE} (time, signature);
  ${['UPDATE', 'DELETE']
    .map(
      (
        change,
      ) => `CREATE TRIGGER IF NOT EXISTS ${TABLE}_no_${change.toLowerCase()} BEFORE ${change} ON ${TABLE}
        BEGIN SELECT RAISE(ABORT, 'checkpoints cannot be changed'); END;`,
    )
    .join('\n')}
`

/** The statements of both databases. */
export const APPEND_CHECKPOINT = `INSERT INTO ${TABLE} (time, body, signature) VALUES ($1, $2, $3) ON CONFLICT (signature) DO NOTHING`
export const PAGE_OF_CHECKPOINTS = `SELECT time, body, signature FROM ${TABLE}
  WHERE (time, signature) > ($1, $2) ORDER BY time, signature LIMIT ${PAGE_ROWS}`

/** SQLite takes $1 as a name. */
const toSqlite = (sql: string) => sql.replaceAll(/\$(?=\d)/g, '?')

/** With `isReading`, nothing is created or changed. */
export function openWitnessFile(path: string, { isReading = false } = {}): WitnessFile {
  if (isReading && !existsSync(path)) throw new UserError(`There is no database of a witness at ${path}.`)
  // Not created: a file system that is not mounted must not be replaced by a folder on this disk.
  if (!existsSync(dirname(path))) throw new UserError(`There is no folder ${dirname(path)} for the witness.`)
  if (!isReading) closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path, { timeout: BUSY_WAIT_MS, readOnly: isReading })
  if (!isReading) database.exec(SCHEMA)
  return {
    append: (checkpoints) => {
      const append = database.prepare(toSqlite(APPEND_CHECKPOINT))
      database.exec('BEGIN IMMEDIATE')
      try {
        for (const { time, body, signature } of checkpoints) append.run(time, body, signature)
        database.exec('COMMIT')
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK')
        throw error
      }
    },
    pages: function* () {
      const select = database.prepare(toSqlite(PAGE_OF_CHECKPOINTS))
      for (let last = { time: '', signature: '' }; ; ) {
        const page = select.all(last.time, last.signature) as unknown as Checkpoint[]
        const end = page.at(-1)
        if (!end) return
        yield page
        last = end
      }
    },
    close: () => database.close(),
  }
}
