import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { type BackupOptions, backup, DatabaseSync } from 'node:sqlite'
import { constants, gunzipSync } from 'node:zlib'
import { REVOCATIONS_FILE } from '../backup/revocations-file.ts'
import type { Config } from '../context/config.ts'
import { makeFolderSync } from '../crypto/make-folder.ts'
import { runKeyCommand } from '../crypto/root-key-command.ts'
import { readSecretFile } from '../crypto/secret-file.ts'
import { SQLITE_FILE } from '../database/open-database.ts'
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
  for (const path of [data.dataDir, data.checkpointDir]) makeFolderSync(path)
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
    source.exec('BEGIN; PRAGMA schema_version')
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

/** The backup that is restored. */
export type FoundBackup = {
  readonly file: string
  /** Names of others in the folder whose time cannot be read: one of them may be newer. */
  readonly unreadable: readonly string[]
}

/** A file, or the newest backup of a folder. */
export function findBackup(path: string): FoundBackup {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats)
    throw new UserError(
      `There is no backup at ${path}. Name a file that "tabbat backup" wrote, or its folder.`,
    )
  if (!stats.isDirectory()) return { file: resolve(path), unreadable: [] }
  const [newest, ...others] = readdirSync(path)
    .filter((name) => name.endsWith('.backup'))
    .map((name) => ({ name, at: readBackupTime(join(path, name)) }))
    .toSorted((a, b) => b.at - a.at || (a.name < b.name ? 1 : -1))
  if (newest)
    return {
      file: resolve(path, newest.name),
      unreadable: others.filter(({ at }) => at === 0).map(({ name }) => name),
    }
  throw new UserError(`There is no file in ${path} whose name ends with .backup.`)
}

/** Far longer than the first line of a backup, which has its time. */
const HEADER_BYTES = 64 * 1024

/** When a backup was made, by its first line: the time of the file is that of a copy of it. 0 if it cannot be read. */
function readBackupTime(file: string): number {
  try {
    // A pipe would wait for its writer.
    if (!statSync(file).isFile()) return 0
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
