import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { assets, readAssetText } from '../assets/asset.ts'
import { UserError } from '../errors.ts'
import type { Database } from './database.ts'

/**
 * How long a change waits for the locks of its tables. Meanwhile nodes of the old version wait behind it: a backup, or pg_dump, reads for
 * minutes. Then they have the pause.
 */
const LOCK_TIMEOUT = '2s'
const LOCK_PAUSE_MS = 4000
const MAX_ATTEMPTS = 100
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Gives a new database the tables of schema/, and an older one the migrations that it lacks. Functions are replaced when their
 * text has changed. In one transaction: a crash leaves the tables unchanged, and of several nodes that start at once, one
 * migrates while the others wait. `onWait` is called once if another transaction has the tables.
 */
export async function migrate(
  database: Database,
  onWait: () => void = () => {},
  pauseMs = LOCK_PAUSE_MS,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await database.transaction(migrateInTransaction, { patient: true })
    } catch (error) {
      if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error
      if (attempt === MAX_ATTEMPTS) throw new UserError(TABLES_IN_USE)
      if (attempt === 1) onWait()
      await pause(pauseMs)
    }
}

const TABLES_IN_USE =
  'The tables could not be changed for ten minutes, because another transaction uses them, such as a backup or pg_dump. Start Tabbat again when it has ended. Nothing was changed.'

async function migrateInTransaction(tx: Database): Promise<void> {
  await tx.lock('migrate')
  // After that lock, for which nodes that start at once wait as long as it takes.
  if (tx.dialect === 'postgres') await tx.prepare(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`).run()
  const state = await readState(tx)
  if (!state) await runScript(tx, `schema/${tx.dialect}.sql`)
  else for (const file of listMigrations(tx.dialect, state.version)) await runScript(tx, `migrations/${file}`)
  const functions = tx.dialect === 'postgres' ? hashFunctions() : ''
  if (state?.version === SCHEMA_VERSION && state.functions === functions) return refuseReadOnly(tx)
  if (functions !== '' && state?.functions !== functions)
    for (const file of listFunctions()) await runScript(tx, `functions/${file}`)
  const save = state
    ? 'UPDATE schema_state SET version = $1, functions = $2'
    : 'INSERT INTO schema_state (version, functions) VALUES ($1, $2)'
  await tx.prepare(save).run(SCHEMA_VERSION, functions)
}

/** A standby, or a server with default_transaction_read_only, fails here and not with the first row that is written. */
async function refuseReadOnly(tx: Database): Promise<void> {
  if (tx.dialect === 'postgres') await tx.prepare('SELECT version FROM schema_state FOR UPDATE').run()
}

const FOLDER = 'src/database'

/** A statement ends with a semicolon before a line that is not indented. */
async function runScript(tx: Database, path: string): Promise<void> {
  const statements = readAssetText(`${FOLDER}/${path}`).split(/;\n(?=\S|\s*\n|$)/)
  for (const sql of statements) if (/^(?!--)\S/m.test(sql)) await tx.prepare(sql).run()
}

/** Such as 0002-key-colours.sql, or a file for each database: 0002-key-colours.sqlite.sql and 0002-key-colours.postgres.sql. */
const MIGRATION = /^(\d{4})-[a-z0-9-]+(?:\.(sqlite|postgres))?\.sql$/

function listMigrations(dialect: Database['dialect'], after: number): string[] {
  return assets
    .list(`${FOLDER}/migrations`)
    .toSorted()
    .filter((file) => {
      const [, id, only = dialect] = MIGRATION.exec(file) ?? []
      return Number(id) > after && only === dialect
    })
}

const listFunctions = () => assets.list(`${FOLDER}/functions`).toSorted()

const hashFunctions = () =>
  hash(
    'sha256',
    listFunctions()
      .map((file) => readAssetText(`${FOLDER}/functions/${file}`))
      .join('\n'),
  )

/** The schema of 0.3.0, the first release. Migrations begin with 0002. */
const FIRST_VERSION = 1

/** The schema that this program knows. */
export const SCHEMA_VERSION = Math.max(
  FIRST_VERSION,
  ...assets.list(`${FOLDER}/migrations`).map((file) => Number(MIGRATION.exec(file)?.[1] ?? 0)),
)

/** The database has an older schema, or none, and must not be changed. */
export class OlderSchema extends UserError {
  /** 0: there are no tables. */
  readonly schema: number

  constructor(schema: number) {
    super(
      schema === 0
        ? 'The database has no tables of Tabbat yet. Start the server first.'
        : `The database has schema ${schema}, and this Tabbat needs ${SCHEMA_VERSION}. The next start of the server changes it.`,
    )
    this.schema = schema
  }
}

/** Instead of a migration: throws unless the schema is the one of this program. Nothing is changed. */
export async function requireSchema(database: Database): Promise<void> {
  const version = (await readState(database))?.version ?? 0
  if (version < SCHEMA_VERSION) throw new OlderSchema(version)
}

const LIST_TABLES = {
  sqlite: "SELECT name FROM sqlite_schema WHERE type = 'table'",
  postgres: 'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()',
} as const

/** Undefined: there are no tables. */
async function readState(
  database: Database,
): Promise<{ readonly version: number; readonly functions: string } | undefined> {
  const tables = (await database.prepare(LIST_TABLES[database.dialect]).all()).map(({ name }) => name)
  if (tables.length === 0) return undefined
  if (!tables.includes('schema_state'))
    throw new UserError(tables.includes('schema_version') ? BEFORE_FIRST_RELEASE : OF_ANOTHER_PROGRAM)
  const row = await database.prepare('SELECT version, functions FROM schema_state').get()
  const version = Number(row?.version)
  if (version > SCHEMA_VERSION)
    throw new UserError(
      `The database was made by a newer Tabbat (schema ${version}, this one knows ${SCHEMA_VERSION}). Update Tabbat.`,
    )
  return { version, functions: String(row?.functions) }
}

const BEFORE_FIRST_RELEASE =
  'The database was made by a Tabbat before 0.3.0, which no release can read: set TABBAT_DATA_DIR or TABBAT_DATABASE_URL to an empty place, and import the records there.'

const OF_ANOTHER_PROGRAM =
  'The database holds tables of another program. Give Tabbat one of its own: set TABBAT_DATA_DIR or TABBAT_DATABASE_URL.'
