import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { type BackupOptions, backup, DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { constants, gunzipSync } from 'node:zlib'
import { REVOCATIONS_FILE } from '../backup/revocations-file.ts'
import type { Config } from '../context/config.ts'
import { runKeyCommand } from '../crypto/root-key-command.ts'
import { readSecretFile } from '../crypto/secret-file.ts'
import type { Database } from '../database/database.ts'
import { HEARTBEATS } from '../database/node-table.ts'
import { openDatabase, SQLITE_FILE } from '../database/open-database.ts'
import { askServers, readLogins } from '../database/postgres-login.ts'
import { hasDatabase } from '../database/sqlite-user-error.ts'
import { UserError } from '../errors.ts'
import { ERASURES_FILE } from '../people/erasures-file.ts'
import { type Program, readReason, type Settings } from './program.ts'

/** Where a copy is: a folder and, for PostgreSQL, a database. */
export type CopiedData = {
  readonly dataDir: string
  readonly checkpointDir: string
  /** The database itself, not through a proxy. */
  readonly databaseUrl: string | undefined
}

/** The folders of a new copy inside `folder`. */
export function createCopyFolders(folder: string, databaseUrl?: string): CopiedData {
  const data = { dataDir: join(folder, 'data'), checkpointDir: join(folder, 'checkpoints'), databaseUrl }
  for (const path of [data.dataDir, data.checkpointDir]) mkdirSync(path, { recursive: true, mode: 0o700 })
  return data
}

/** Pages of each step. */
const PAGES = 20_000

/** Throws if there is nothing to copy. */
export function requireSqlite({ dataDir }: Config): void {
  const path = join(dataDir, SQLITE_FILE)
  if (!hasDatabase(path))
    throw new UserError(
      `There is no database at ${resolve(path)}. Run this where the server runs, or give --data-dir.`,
    )
}

const MEGABYTE = 1_000_000

/** Throws if the disk of the folder has no room for so many copies of the SQLite database. */
export function requireRoom({ dataDir }: Pick<Config, 'dataDir'>, folder: string, copies: number): void {
  const sizes = ['', '-wal'].map(
    (suffix) => statSync(join(dataDir, SQLITE_FILE + suffix), { throwIfNoEntry: false })?.size,
  )
  const needed = copies * sizes.reduce((sum: number, size) => sum + (size ?? 0), 0)
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize >= needed) return
  const toText = (bytes: number) => `${Math.ceil(bytes / MEGABYTE)} MB`
  throw new UserError(
    `The copies need ${toText(needed)} in the temporary folder ${folder}, which has ${toText(bavail * bsize)}. Set TMPDIR to a folder with more room.`,
  )
}

const SQLITE_FULL = 13

/** What keeps this user from writing to the temporary folder, as a sentence. Other errors are returned unchanged. */
export function toFolderError(folder: string, error: unknown): unknown {
  const { code = '', errcode = 0, syscall } = error as { code?: string; errcode?: number; syscall?: string }
  if (code === 'ENOSPC' || code === 'EDQUOT' || (errcode & 0xff) === SQLITE_FULL)
    return new UserError(
      `The disk of the temporary folder ${folder} is full. Set TMPDIR to a folder with more room.`,
    )
  if (syscall === undefined) return error
  return new UserError(
    `The temporary folder ${folder} cannot be used (${code}). Set TMPDIR to a folder that exists and that this user can write to.`,
  )
}

/** Copies the SQLite database by its online backup, while servers run. Only reads what it copies. */
export async function copySqlite(
  config: Pick<Config, 'dataDir' | 'checkpointDir'>,
  to: CopiedData,
  steps: BackupOptions = { rate: PAGES },
): Promise<void> {
  const path = join(config.dataDir, SQLITE_FILE)
  // Before the database: a checkpoint that is not in the copy would look like a log that was cut.
  copyLists(config, to.checkpointDir, () => true)
  const source = new DatabaseSync(path, { readOnly: true })
  try {
    // Without a snapshot, SQLite begins again after each commit of another process. It begins with the first read, not with BEGIN.
    source.exec('BEGIN; SELECT COUNT(*) FROM sqlite_schema')
    await backup(source, join(to.dataDir, SQLITE_FILE), steps)
  } catch (error) {
    throw toFolderError(to.dataDir, error)
  } finally {
    source.close()
  }
}

/** The files beside the checkpoints, by which a restore erases and revokes again. */
export const copyRemovals = (config: Config, folder: string) =>
  copyLists(config, folder, (name) => name === ERASURES_FILE || name === REVOCATIONS_FILE)

const LISTS = new RegExp(`^(checkpoints.*\\.log(\\.gz)?|${ERASURES_FILE}|${REVOCATIONS_FILE})$`)

function copyLists(
  { checkpointDir, dataDir }: Pick<Config, 'dataDir' | 'checkpointDir'>,
  folder: string,
  isWanted: (name: string) => boolean,
): void {
  const from = checkpointDir ?? dataDir
  if (!existsSync(from)) return
  for (const name of readdirSync(from))
    if (LISTS.test(name) && isWanted(name)) copyFileSync(join(from, name), join(folder, name))
}

/** Restores a backup into the copy, as an operator would. Returns the time of the backup. */
export async function restoreCopy(program: Program, settings: Settings, file: string): Promise<string> {
  const { code, stdout, stderr } = await program.run(settings, 'restore', file, '--json')
  if (code === 0) return String((JSON.parse(stdout) as { created_at: string }).created_at)
  throw new UserError(readReason(stderr))
}

/** A file, or the newest backup of a folder. */
export function findBackup(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats)
    throw new UserError(
      `There is no backup at ${path}. Name a file that "tabbat backup" wrote, or its folder.`,
    )
  if (!stats.isDirectory()) return resolve(path)
  const [newest] = readdirSync(path)
    .filter((name) => name.endsWith('.backup'))
    .map((name) => ({ name, at: readBackupTime(join(path, name)) }))
    .toSorted((a, b) => b.at - a.at || (a.name < b.name ? 1 : -1))
  if (newest) return resolve(path, newest.name)
  throw new UserError(`There is no file in ${path} whose name ends with .backup.`)
}

/** Far longer than the first line of a backup, which has its time. */
const HEADER_BYTES = 64 * 1024

/** When a backup was made, by its first line: the time of the file is that of a copy of it. 0 if it cannot be read. */
function readBackupTime(file: string): number {
  try {
    const start = Buffer.alloc(HEADER_BYTES)
    const descriptor = openSync(file, 'r')
    const length = readSync(descriptor, start)
    closeSync(descriptor)
    const text = gunzipSync(start.subarray(0, length), { finishFlush: constants.Z_SYNC_FLUSH }).toString()
    const { created_at } = JSON.parse(text.split('\n', 1)[0] ?? '') as { created_at?: string }
    return Date.parse(String(created_at)) || 0
  } catch {
    return 0
  }
}

/** The root key as the operator's servers get it. It is passed on to children by their environment, and written nowhere. */
export async function readRootKeys(config: Config): Promise<string[]> {
  const { rootKey, rootKeyPrevious, rootKeyCommand, dataDir } = config
  if (rootKeyCommand !== undefined) return splitKeys(await runKeyCommand(rootKeyCommand))
  if (rootKey !== undefined) return splitKeys(`${rootKey} ${rootKeyPrevious ?? ''}`)
  return splitKeys(readKeyFile(join(dataDir, 'root.key')))
}

function readKeyFile(path: string): string {
  try {
    return readSecretFile(path, 'private')
  } catch (error) {
    if (error instanceof UserError) throw error
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT')
      throw new UserError(`The root key is missing. Put it at ${resolve(path)} or set TABBAT_ROOT_KEY_FILE.`)
    throw new UserError(
      `The root key ${resolve(path)} cannot be read (${code}). Run this as the user of the server.`,
    )
  }
}

const splitKeys = (text: string) => text.trim().split(/\s+/)

/** Opens the copy beside its servers, as another program would. */
async function withCopy<T>(
  { dataDir, databaseUrl }: CopiedData,
  work: (database: Database) => Promise<T>,
  keepsSchema = false,
): Promise<T> {
  const options = { dataDir, databaseUrl, mustExist: true, isScratch: true, keepsSchema }
  const { database, close } = await openDatabase(options)
  try {
    return await work(database)
  } finally {
    await close()
  }
}

/** A server renews its row in this time, unless it stands still. */
const LOOK_AGAIN_MS = HEARTBEATS.postgres.deadMs + HEARTBEATS.postgres.everyMs

/**
 * Throws if a server uses the database of PostgreSQL: then it is not a copy, or the copy is in use. No clock decides this: rows of a server
 * that was killed stay as they are, and a server that stands still stays connected.
 */
export async function refuseRunningServers(
  data: CopiedData,
  lookAgain: () => Promise<unknown> = () => pause(LOOK_AGAIN_MS),
): Promise<void> {
  // It may be live, so nothing of it is changed before it is known.
  const look = () =>
    withCopy(
      data,
      async (database) => ({
        beats: await database.prepare('SELECT owner, seen_at FROM nodes ORDER BY owner').all(),
        sessions: (await database.prepare(SESSIONS).all()).map(({ pid }) => Number(pid)),
      }),
      true,
    )
  const before = await look()
  await lookAgain()
  const { beats, sessions } = await look()
  const stay = sessions.some((pid) => before.sessions.includes(pid))
  if (stay || !isDeepStrictEqual(beats, before.beats))
    throw new UserError(
      'A server is running on that database, so it is live, or another rehearsal uses it. Stop the server, or name a copy.',
    )
}

/** Of other programs of Tabbat. The name is shown to every role. */
const SESSIONS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'tabbat'`

/** How many servers of an address of PostgreSQL can be written now. */
export const countWritable = async (databaseUrl: string): Promise<number> =>
  (await listWritable(databaseUrl)).length

/** Which server, or servers, of an address of PostgreSQL can be written now; undefined if there is none. */
export async function readPrimary(databaseUrl: string): Promise<string | undefined> {
  const writable = new Set(await listWritable(databaseUrl))
  return writable.size === 0 ? undefined : [...writable].toSorted().join(', ')
}

/** What tells the writable servers of an address apart, also those behind one name or one proxy. */
async function listWritable(databaseUrl: string): Promise<string[]> {
  const identities = await askServers(databaseUrl, async (query) => {
    const row = await query(IDENTITY)
    if (row?.is_standby !== false) return undefined
    // Not every service lets a user read the timeline.
    const timeline = await query(TIMELINE).catch(() => undefined)
    return `${row.address}:${row.port} ${row.started_at} ${timeline?.timeline}`
  })
  return identities.filter((identity) => identity !== undefined)
}

const IDENTITY = `SELECT pg_is_in_recovery() AS is_standby, host(inet_server_addr()) AS address, inet_server_port() AS port,
  EXTRACT(EPOCH FROM pg_postmaster_start_time())::text AS started_at,
  (SELECT oid::text FROM pg_database WHERE datname = current_database()) AS database`
const TIMELINE = 'SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline'

/**
 * Throws if both addresses lead to one database, however they are spelled. The start of a server tells it from every other one, also from a
 * physical copy, which has the same system identifier.
 */
export async function refuseLiveDatabase(live: string | undefined, copy: string): Promise<void> {
  if (live === undefined) return
  const [ofLive = [], ofCopy = []] = await Promise.all([live, copy].map(listPlaces))
  if (ofCopy.some((place) => ofLive.includes(place)))
    throw new UserError(
      'The address of the copy leads to the database of TABBAT_DATABASE_URL, which may be live. Make a copy of that database, and name the copy.',
    )
}

/** The databases of an address, by the servers that answer and, for those that do not, by its text. */
async function listPlaces(databaseUrl: string): Promise<string[]> {
  const [logins, rows] = await Promise.all([
    readLogins(databaseUrl),
    askServers(databaseUrl, (query) => query(IDENTITY)),
  ])
  return [
    ...logins.map(({ host, port, database }) => `${host}:${port}/${database}`),
    ...rows.flatMap((row) => (row === undefined ? [] : `${row.started_at}/${row.database}`)),
  ]
}

/**
 * What waits in the copy is about customers and for receivers of the operator: it is removed, and endpoints lead to the receiver of the
 * rehearsal. The copy also forgets the servers it was copied from, and what was spent today.
 */
export const quietCopy = (data: CopiedData, receiverUrl: string): Promise<void> =>
  withCopy(data, (database) =>
    database.transaction(async (tx) => {
      for (const sql of WAITING) await tx.prepare(sql).run()
      await tx.prepare('UPDATE webhook_endpoints SET url = $1').run(receiverUrl)
    }),
  )

const WAITING = [
  'DELETE FROM nodes',
  'DELETE FROM source_states',
  'DELETE FROM source_spend',
  'DELETE FROM spend_shares',
  'DELETE FROM unlogged_events',
  "DELETE FROM webhook_deliveries WHERE state = 'pending'",
  'DELETE FROM queued_verifications WHERE due_at IS NOT NULL',
  'DELETE FROM queue_counts',
  'DELETE FROM batch_rows WHERE batch IN (SELECT id FROM batches WHERE ended_at IS NULL)',
  'DELETE FROM batches WHERE ended_at IS NULL',
]

/** The outcome of a verification, as the audit log in the database has it. */
export type OutcomeRow = { readonly reference: string; readonly consent: string; readonly outcome: string }

/** Those of verifications of the rehearsal, by their consent references. */
export const readOutcomes = (data: CopiedData, consents: readonly string[]): Promise<OutcomeRow[]> =>
  withCopy(data, async (database) => {
    const wanted = new Set(consents)
    const rows = await database
      .prepare(
        `SELECT request_reference, consent_reference, outcome FROM audit
         WHERE phase = 'outcome' AND consent_reference LIKE 'rehearsal-%'`,
      )
      .all()
    return rows
      .map((row) => ({
        reference: String(row.request_reference),
        consent: String(row.consent_reference),
        outcome: String(row.outcome),
      }))
      .filter(({ consent }) => wanted.has(consent))
  })

/** An event for an endpoint. */
export type DeliveryRow = { readonly id: string; readonly reference: string; readonly state: string }

/** In the order in which they must arrive, for each reference. */
export const readDeliveries = (data: CopiedData, endpointId: string): Promise<DeliveryRow[]> =>
  withCopy(data, async (database) => {
    const rows = await database
      .prepare(
        'SELECT event_id, reference, state FROM webhook_deliveries WHERE endpoint_id = $1 ORDER BY reference, position, event_id',
      )
      .all(endpointId)
    return rows.map((row) => ({
      id: String(row.event_id),
      reference: String(row.reference),
      state: String(row.state),
    }))
  })

type Tampered = {
  readonly chain: string
  readonly sequence: number
  /** Gives the row its value back. */
  readonly repair: () => Promise<void>
}

/** Changes the outcome of a row in the middle of the longest chain, as an administrator of the database could. */
export async function tamperRow(data: CopiedData): Promise<Tampered> {
  const row = await withCopy(data, (database) => database.prepare(MIDDLE).get())
  if (!row) throw new UserError('The audit log of the copy is empty.')
  const [chain, sequence] = [String(row.chain), Number(row.sequence)]
  const set = (outcome: string | null) =>
    withCopy(data, async (database) => {
      const { off, on } = PROTECTION[database.dialect]
      await database.transaction(async (tx) => {
        for (const sql of off) await tx.prepare(sql).run()
        await tx
          .prepare('UPDATE audit SET outcome = $1 WHERE chain = $2 AND sequence = $3')
          .run(outcome, chain, sequence)
        for (const sql of on) await tx.prepare(sql).run()
      })
    })
  const before = row.outcome === null ? null : String(row.outcome)
  await set(before === 'verified' ? 'not_verified' : 'verified')
  return { chain, sequence, repair: () => set(before) }
}

const MIDDLE = `
  SELECT a.chain, a.sequence, a.outcome FROM audit a JOIN (
    SELECT chain, MIN(sequence) AS first, COUNT(*) AS rows_of FROM audit GROUP BY chain ORDER BY 3 DESC, 1 LIMIT 1
  ) c ON a.chain = c.chain AND a.sequence = c.first + c.rows_of / 2`

/** The triggers that refuse changes. Who can change the database can also switch them off. */
const PROTECTION = {
  sqlite: {
    off: ['DROP TRIGGER audit_no_update'],
    on: [
      `CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit log cannot be changed');
  END`,
    ],
  },
  postgres: {
    off: ['ALTER TABLE audit DISABLE TRIGGER USER'],
    on: ['ALTER TABLE audit ENABLE TRIGGER USER'],
  },
} as const
