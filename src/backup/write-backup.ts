import { createHmac, type KeyObject, randomUUID } from 'node:crypto'
import {
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createGunzip, createGzip } from 'node:zlib'
import type { AuditEntry } from '../audit/row.ts'
import { holdsPersonNumber } from '../contract/free-text.ts'
import type { RootKeys } from '../crypto/root-key.ts'
import type { Row } from '../database/database.ts'
import type { MetaTable } from '../database/meta-table.ts'
import { SCHEMA_VERSION } from '../database/migrate.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import { UserError } from '../errors.ts'
import {
  type Counts,
  DATA_TABLES,
  encodeRow,
  FORMAT,
  FORMAT_VERSION,
  type Header,
  toBackupKey,
  toMacText,
} from './format.ts'
import { readBackup, splitLines } from './read-backup.ts'
import { type Snapshot, withSnapshot } from './snapshot.ts'

type BackupOptions = {
  /** Replaces an existing file. */
  readonly force?: boolean
  readonly onProgress?: (done: number, total: number) => void
}

export type Backup = { readonly header: Header; readonly counts: Counts }

/** Sealed rows look random: searching for repetitions finds none, and takes longer than all the rest. */
const GZIP = { strategy: constants.Z_HUFFMAN_ONLY }

/** Writes a consistent snapshot of all tables while servers run. The root key is not part of it, and authenticates it. */
export function writeBackup(
  {
    store,
    rootKeys,
  }: { readonly store: Pick<OpenDatabase, 'database' | 'file' | 'place'>; readonly rootKeys: RootKeys },
  file: string,
  { force = false, onProgress = () => {} }: BackupOptions = {},
): Promise<Backup> {
  return writeAtomically(file, force, (partial) =>
    withSnapshot(store, async (snapshot) => {
      const header = await createHeader(snapshot, store.place)
      if (!rootKeys.candidates.some(({ fingerprint }) => fingerprint === header.root_fingerprint))
        throw new UserError('A rotation of the root key began meanwhile. Run this again.')
      const counts: Counts = {}
      const key = toBackupKey(rootKeys, header)
      const lines = withEnd(toLines(snapshot, header, counts, onProgress), key, counts)
      await pipeline(
        Readable.from(lines, { objectMode: false }),
        createGzip(GZIP),
        createWriteStream(partial, { flush: true }),
      )
      return { header, counts }
    }),
  )
}

/** Writes a backup and notes it: in the audit log, before, so that the backup contains the row, and for `tabbat doctor`. */
export async function writeRecordedBackup(
  deps: {
    readonly store: Pick<OpenDatabase, 'database' | 'file' | 'place'> & { readonly meta: MetaTable }
    readonly rootKeys: RootKeys
    readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
  },
  file: string,
  options: BackupOptions = {},
): Promise<Backup> {
  const { store, audit } = deps
  const entry = { phase: 'backup_written', detail: toPlace(file) }
  await audit.record([{ ...entry, outcome: 'ok' }])
  try {
    const backup = await writeBackup(deps, file, options)
    const bytes = String(statSync(file).size)
    await store.meta.set({ last_backup_at: backup.header.created_at, last_backup_bytes: bytes })
    return backup
  } catch (error) {
    await audit.record([{ ...entry, outcome: 'failed' }]).catch(() => {})
    throw error
  }
}

/** Where the data went. A name that looks like the number of a person is left out. */
function toPlace(file: string): string | null {
  const path = resolve(file)
  const shown = [path, dirname(path)].find((each) => !holdsPersonNumber(each))
  return shown === undefined ? null : `to ${JSON.stringify(shown)}`
}

async function createHeader({ rows }: Snapshot, place: string): Promise<Header> {
  let fingerprint: unknown
  for await (const page of rows('meta'))
    fingerprint ??= page.find(({ name }) => name === 'root_fingerprint')?.value
  if (typeof fingerprint !== 'string')
    throw new UserError(
      `There is nothing to back up at ${place}. Check TABBAT_DATA_DIR or TABBAT_DATABASE_URL.`,
    )
  return {
    format: FORMAT,
    version: FORMAT_VERSION,
    schema: SCHEMA_VERSION,
    root_fingerprint: fingerprint,
    created_at: new Date().toISOString(),
  }
}

/** Text of whole lines, some rows at a time. Counts the rows of each table as it goes. */
async function* toLines(
  snapshot: Snapshot,
  header: Header,
  counts: Counts,
  onProgress: (done: number, total: number) => void,
): AsyncIterable<string> {
  const sizes = await Promise.all(DATA_TABLES.map((table) => snapshot.count(table)))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  let done = 0
  yield `${JSON.stringify(header)}\n`
  for (const table of DATA_TABLES) {
    let columns: string[] | undefined
    counts[table] = 0
    for await (const page of snapshot.rows(table)) {
      if (!columns) {
        columns = Object.keys(page[0] ?? {})
        yield `${JSON.stringify({ table, columns })}\n`
      }
      yield toText(columns, page)
      counts[table] += page.length
      done += page.length
      onProgress(done, total)
    }
  }
}

const toText = (columns: readonly string[], page: readonly Row[]) =>
  page.map((row) => `${encodeRow(columns, row)}\n`).join('')

async function* withEnd(lines: AsyncIterable<string>, key: KeyObject, counts: Counts): AsyncIterable<string> {
  const mac = createHmac('sha256', key)
  for await (const text of lines) {
    mac.update(text)
    yield text
  }
  const end = JSON.stringify({ end: true, counts }).slice(0, -1)
  yield `${end}${toMacText(mac.update(end).digest('hex'))}\n`
}

/**
 * Writes a temporary file and renames it when it is complete and on disk, so that the file is never incomplete. Only its owner
 * may read it. It has a name of its own, so that two backups to the same file do not write to one.
 */
async function writeAtomically<T>(
  file: string,
  force: boolean,
  write: (partial: string) => Promise<T>,
): Promise<T> {
  refuseExisting(file, force)
  try {
    deleteAbandoned(file)
  } catch {
    // The folder may be readable or changeable by others only. The backup does not depend on it.
  }
  const partial = `${file}.partial-${randomUUID()}`
  try {
    closeSync(openSync(partial, 'wx', 0o600))
    const result = await write(partial)
    refuseExisting(file, force)
    renameSync(partial, file)
    syncFolder(dirname(file))
    return result
  } catch (error) {
    try {
      rmSync(partial, { force: true })
    } catch {
      // Where nothing may be written, nothing may be deleted. The first error says why.
    }
    throw writeError(file, error)
  }
}

/** A backup that is being written grows all the time. */
const ABANDONED_AFTER_MS = 3_600_000
const PARTIAL = /\.partial(-[0-9a-f-]{36})?$/

/** Deletes what interrupted runs left: parts of this file and, if it has a dated name, of others with such a name. */
function deleteAbandoned(file: string): void {
  const own = basename(file)
  for (const name of readdirSync(dirname(file)).filter((each) => PARTIAL.test(each))) {
    const whole = name.replace(PARTIAL, '')
    const path = join(dirname(file), name)
    const isOurs = whole === own || (NAME.test(own) && NAME.test(whole))
    const stats = isOurs ? statSync(path, { throwIfNoEntry: false }) : undefined
    if (stats?.isFile() && stats.mtimeMs < Date.now() - ABANDONED_AFTER_MS) rmSync(path, { force: true })
  }
}

function refuseExisting(file: string, force: boolean): void {
  if (!force && existsSync(file))
    throw new UserError(`${file} exists. Give another name, or --force to replace it.`)
}

function syncFolder(folder: string): void {
  const opened = openSync(folder, 'r')
  fsyncSync(opened)
  closeSync(opened)
}

function writeError(file: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC')
    return new UserError(`The disk of ${file} is full. Free some space, or write to another disk.`)
  if (syscall === undefined) return error
  if (code === 'EACCES')
    return new UserError(
      `This user may not write ${file} (${code}). Give another file, or give this user access to its folder.`,
    )
  const folder = dirname(resolve(file))
  if (!existsSync(folder))
    return new UserError(`There is no folder ${folder}. Create it, or give another file.`)
  return new UserError(`${file} cannot be written (${code}). Give another file.`)
}

/** The names that `tabbat backup --keep` gives: tabbat-20260301-023000.backup, in UTC. */
const NAME = /^tabbat-\d{8}-\d{6}\.backup$/

export function toBackupFile(folder: string, at: Date): string {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UserError(`${folder} is not a folder. With --keep, name the folder of the backups.`)
  const [date = '', time = ''] = at.toISOString().replaceAll(/[-:]/g, '').split(/[T.]/)
  return join(folder, `tabbat-${date}-${time}.backup`)
}

type Pruned = {
  readonly deleted: readonly string[]
  /** Named with a later time than the new one: the clock was wrong then, or is now. */
  readonly later: readonly string[]
}

/**
 * Deletes the oldest backups of this installation in the folder but `keep`. The new one is read back first: if it is damaged,
 * nothing is deleted. Files with other names or of another root key stay. So do those of a later time, which do not count:
 * with a wrong clock, one of them would take the place of a real one for ever.
 */
export async function deleteOldBackups(
  folder: string,
  newest: string,
  { keep, rootKeys }: { readonly keep: number; readonly rootKeys: RootKeys },
): Promise<Pruned> {
  const { header } = await readBackup(newest, rootKeys, { onRows: () => {} })
  const own: string[] = []
  for (const name of readdirSync(folder)
    .filter((each) => NAME.test(each))
    .toSorted()) {
    const file = join(folder, name)
    if (file === newest) continue
    if ((await readHeader(file))?.root_fingerprint === header.root_fingerprint) own.push(file)
  }
  const earlier = own.filter((file) => file < newest)
  const deleted = earlier.slice(0, Math.max(0, earlier.length - (keep - 1)))
  for (const file of deleted) rmSync(file)
  return { deleted, later: own.filter((file) => file > newest) }
}

/** The first line; undefined when the file is not a backup or cannot be read. */
async function readHeader(file: string): Promise<Partial<Header> | undefined> {
  // A pipe would wait for its writer.
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return undefined
  const input = createReadStream(file)
  const text = createGunzip()
  input.on('error', (error) => text.destroy(error))
  try {
    for await (const line of splitLines(input.pipe(text))) {
      const header = JSON.parse(line.toString()) as Partial<Header> | null
      return header?.format === FORMAT ? header : undefined
    }
  } catch {
    // Damaged, or another file: it stays.
  } finally {
    input.destroy()
    text.destroy()
  }
  return undefined
}
