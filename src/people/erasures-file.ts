import type { CheckpointFolders } from '../audit/settings.ts'
import {
  appendSigned,
  readSigned,
  readSignedSize,
  type SignedFile,
  type SignedLine,
  scanSigned,
} from '../audit/signed-file.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import type { Log } from '../telemetry/log.ts'
import type { ErasureTable } from './erasure-table.ts'
import type { Tombstone, TombstonePosition } from './tombstone-table.ts'

/**
 * The erasures of a database in a file outside it, `erasures.log` beside `checkpoints.log`: a restore of an older backup erases
 * these people again. A line is a JSON object with keyed hashes and a MAC, and no number.
 */

export const ERASURES_FILE = 'erasures.log'

export const toErasureFolder = ({ checkpointDir, dataDir }: CheckpointFolders) => checkpointDir ?? dataDir

/** Durable when it resolves. */
const appendErasures = (
  folder: string,
  keyring: Pick<Keyring, 'erasure'>,
  erasures: readonly Tombstone[],
): Promise<void> => appendSigned(folder, ERASURES_FILE, keyring.erasure, erasures.map(toLine))

const toLine = ({ id, kind, record, reusedResult, subject, erasedAt }: Tombstone) => ({
  id,
  kind,
  erased_at: new Date(erasedAt).toISOString(),
  subject: toHex(subject),
  record: toHex(record),
  reused: toHex(reusedResult),
})

const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

export type ErasuresFile = SignedFile

/** The lines of a file, or of `erasures.log` in a folder. Undefined if there is no such file. */
export const readErasuresFile = (path: string): Promise<ErasuresFile | undefined> =>
  readSigned(path, ERASURES_FILE)

/** The files that are named, which must exist, or else the one of this node, if it exists. */
export async function readErasuresFiles(
  named: readonly string[] | undefined,
  folder: string,
): Promise<ErasuresFile[]> {
  if (!named) return [await readErasuresFile(folder)].flatMap((file) => file ?? [])
  const files: ErasuresFile[] = []
  for (const path of named) {
    const file = await readErasuresFile(path)
    if (!file) throw new UserError(`There is no ${ERASURES_FILE} at ${path}. Nothing was changed.`)
    files.push(file)
  }
  return files
}

/** The bytes of `erasures.log` in a folder; 0 if there is none. */
const readSize = (folder: string): Promise<number> => readSignedSize(folder, ERASURES_FILE)

/** The erasures of a file, each id once. Refuses a line that this database has not signed. */
export function parseErasures(file: ErasuresFile, keyring: Pick<Keyring, 'erasure'>): Tombstone[] {
  const { erasures, unsignedLine } = scanErasures(file, keyring)
  if (unsignedLine === undefined) return erasures
  throw new UserError(
    `Line ${unsignedLine} of ${file.file} is not an erasure that this database has signed: it was changed, or belongs to another root key. Give the right file with --erasures. Nothing was changed.`,
  )
}

type Scanned = {
  readonly erasures: Tombstone[]
  /** The number of the first one. */
  readonly unsignedLine: number | undefined
}

export function scanErasures(file: ErasuresFile, keyring: Pick<Keyring, 'erasure'>): Scanned {
  const { values, unsignedLine } = scanSigned(file, keyring.erasure, toTombstone)
  return { erasures: [...new Map(values.map((each) => [each.id, each])).values()], unsignedLine }
}

const HASH = /^[0-9a-f]{64}$/

function toTombstone({ id, kind, erased_at, subject, record, reused }: SignedLine): Tombstone | undefined {
  const erasedAt = Date.parse(String(erased_at))
  const hashes = [subject, record, reused].map(String)
  if (Number.isNaN(erasedAt) || !hashes.every((hash) => HASH.test(hash))) return undefined
  const [subjectBytes, recordBytes, reusedBytes] = hashes.map((hash) => Buffer.from(hash, 'hex'))
  if (!subjectBytes || !recordBytes || !reusedBytes) return undefined
  return {
    id: String(id),
    kind: String(kind),
    record: recordBytes,
    reusedResult: reusedBytes,
    subject: subjectBytes,
    erasedAt,
  }
}

const EVERY_MS = 60_000
const ROWS_AT_ONCE = 500
const START: TombstonePosition = { erasedAt: 0, id: '' }
/** Transactions of the same moment may become visible in another order than that of their times. */
const OVERLAP_MS = 600_000

type FileDeps = {
  readonly table: Pick<ErasureTable, 'listTombstones'>
  readonly keyring: Keyring
  readonly config: CheckpointFolders
  readonly log: Pick<Log, 'event' | 'failure'>
}

/** Adds the erasures of all nodes to the file of this one, now and every minute, until the returned function is called. */
export function keepErasuresFile(deps: FileDeps): () => Promise<void> {
  const step = createFileStep(deps)
  let running: Promise<unknown> | undefined
  const run = () => {
    running ??= step().finally(() => {
      running = undefined
    })
  }
  run()
  const timer = setInterval(run, EVERY_MS).unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}

/** Adds what is new. A file that was deleted or cut gets all erasures again, and the log says so. */
export function createFileStep({ table, keyring, config, log }: FileDeps): () => Promise<void> {
  const folder = toErasureFolder(config)
  let from = START
  let size = 0
  let isFailing = false
  const add = async () => {
    if ((await readSize(folder)) < size) {
      log.event('warn', 'erasures_file_cut', { folder })
      from = START
    }
    const last = await addMissing(table, keyring, folder, from)
    from = { erasedAt: Math.max(0, last - OVERLAP_MS), id: '' }
    size = await readSize(folder)
    if (isFailing) log.event('info', 'erasures_file_written', { folder })
    isFailing = false
  }
  return () =>
    add().catch((error: NodeJS.ErrnoException) => {
      if (!isFailing) log.event('error', 'erasures_file_failed', { folder, reason: error.code ?? error.name })
      isFailing = true
      log.failure(error)
    })
}

/** Adds an erasure that is in the table. A file that is missing or empty gets all of them: it may have been deleted. */
export async function addErasure(
  table: Pick<ErasureTable, 'listTombstones'>,
  keyring: Keyring,
  folder: string,
  erasure: Tombstone,
): Promise<void> {
  if ((await readSize(folder)) === 0) await addMissing(table, keyring, folder)
  else await appendErasures(folder, keyring, [erasure])
}

/** Returns the time of the last erasure. */
export async function addMissing(
  table: Pick<ErasureTable, 'listTombstones'>,
  keyring: Keyring,
  folder: string,
  from = START,
): Promise<number> {
  let known: ReadonlySet<string> | undefined
  let last = from.erasedAt
  for await (const rows of listPages(table, from)) {
    known ??= toIds(await readErasuresFile(folder), keyring)
    await appendErasures(
      folder,
      keyring,
      rows.filter(({ id }) => !known?.has(id)),
    )
    last = rows.at(-1)?.erasedAt ?? last
  }
  return last
}

/** How many erasures the database has, and how many of those up to a time are not in these files. */
export async function countMissing(
  table: Pick<ErasureTable, 'listTombstones'>,
  keyring: Keyring,
  files: readonly ErasuresFile[],
  until = Number.MAX_SAFE_INTEGER,
): Promise<{ readonly missing: number; readonly all: number }> {
  const known = new Set(files.flatMap((file) => [...toIds(file, keyring)]))
  let [missing, all] = [0, 0]
  for await (const rows of listPages(table, START)) {
    all += rows.length
    missing += rows.filter(({ id, erasedAt }) => erasedAt <= until && !known.has(id)).length
  }
  return { missing, all }
}

async function* listPages(
  table: Pick<ErasureTable, 'listTombstones'>,
  from: TombstonePosition,
): AsyncIterable<readonly Tombstone[]> {
  for (let after = from; ; ) {
    const rows = await table.listTombstones(after, ROWS_AT_ONCE)
    const last = rows.at(-1)
    if (!last) return
    yield rows
    after = last
  }
}

const toIds = (file: ErasuresFile | undefined, keyring: Keyring): ReadonlySet<string> =>
  new Set(file ? scanErasures(file, keyring).erasures.map(({ id }) => id) : [])
