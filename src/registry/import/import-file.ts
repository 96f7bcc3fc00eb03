import { isUtf8 } from 'node:buffer'
import { createHmac } from 'node:crypto'
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Kind } from '../../crypto/mac.ts'
import { UserError } from '../../errors.ts'
import type { RegistryTable } from '../registry-table.ts'
import type { SealedMedia } from '../sealed-entry.ts'
import { type Column, isLikeHeader, readHeader } from './csv.ts'
import type { Input } from './input.ts'
import { BadRow } from './record-fields.ts'
import { type Chunk, cutChunks, type Format, splitRows, TOO_LONG } from './rows.ts'
import type { PackedChunk, Reject } from './seal-chunk.ts'
import { type SealedRow, unpackRows } from './sealed-rows.ts'
import { openSealingPool, type SealingPool } from './sealing-pool.ts'

/** Chunks that are read but not saved yet: enough to keep the threads busy while a batch is saved. */
const MAX_IN_FLIGHT = 40
/** The thread that saves needs a part of one processor. */
const THREADS = Math.min(Math.max(availableParallelism(), 2), 4)
/** A single thread finishes this much before a second one has started. */
const SMALL_BYTES = 1024 * 1024

/** Progress of an import. Saved in the same commit as the rows. */
export type Progress = {
  /** How many bytes of the file are done. */
  readonly offset: number
  /** The next line, counted from 1. */
  readonly line: number
  readonly records: number
  /** New and changed records. */
  readonly changed: number
  readonly rejected: number
  readonly rejectedBytes: number
}

export type ImportOptions = {
  readonly kind: Kind
  readonly format: Format
  readonly strict: boolean
  readonly rejectedPath: string
  /** Ends the import early: the rows so far are saved, and importing the same file again continues there. */
  readonly signal?: AbortSignal
}

export type Imported = Progress & {
  /** Whether it ended before the end of the file. */
  readonly isInterrupted: boolean
  /** Whether the same import, started again, continues where this one ended. */
  readonly canContinue: boolean
}

type ImportWatcher = {
  readonly onContinue: (progress: Progress) => void
  readonly onProgress: (progress: Progress) => void
  readonly onReject: (reject: Reject) => void
}

type Registry = { readonly table: RegistryTable; readonly keyring: Keyring }

/** Imports the rows of a file into the registry, in order, and continues an interrupted import. */
export async function importFile(
  { table, keyring }: Registry,
  input: Input,
  options: ImportOptions,
  watcher: ImportWatcher,
): Promise<Imported> {
  const { kind, format, strict, signal } = options
  const { columns, start: beginning } = readLayout(kind, format, input)
  const importId = toImportId(keyring, input, options)
  const interrupted = importId === undefined ? undefined : await table.importProgress(importId)
  const start = interrupted === undefined ? beginning : (JSON.parse(interrupted) as Progress)
  if (interrupted !== undefined) watcher.onContinue(start)

  const rejects = openRejects(options.rejectedPath, start.rejectedBytes)
  const threads = (input.size ?? SMALL_BYTES) < SMALL_BYTES ? 1 : THREADS
  const pool = openSealingPool(keyring, { kind, format, strict, columns }, threads)
  const saver = createBatchSaver({ table, kind, keyVersion: keyring.version, rejects, importId, start })
  try {
    const chunks = cutChunks(input.readFrom(start.offset), format, start.offset)
    const sealed = untilAborted(sealInOrder(pool, chunks), signal)
    const stop = await takeChunks(sealed, saver, strict, watcher)
    await saver.flush()
    const isInterrupted = signal?.aborted === true && saver.progress().offset !== input.size
    if (isInterrupted) return { ...saver.progress(), isInterrupted, canContinue: importId !== undefined }
    // After a strict stop the file will be corrected, and is then another file.
    if (importId !== undefined) await table.finishImport(importId)
    if (stop) throw new UserError(`line ${stop.line}: ${stop.reason}. The rows before it were saved.`)
    return { ...saver.progress(), isInterrupted, canContinue: false }
  } finally {
    rejects.close()
    await pool.close()
  }
}

/** Ends on the signal, also while waiting for input: standard input may be idle. */
async function* untilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  const aborted = Promise.withResolvers<{ readonly done: true; readonly value: undefined }>()
  const stop = () => aborted.resolve({ done: true, value: undefined })
  signal?.addEventListener('abort', stop, { once: true })
  const iterator = items[Symbol.asyncIterator]()
  while (!signal?.aborted) {
    const next = iterator.next()
    // If the signal comes first, the pool is closed and this rejects without a handler.
    next.catch(() => {})
    const { done, value } = await Promise.race([next, aborted.promise])
    if (done) break
    yield value
  }
  signal?.removeEventListener('abort', stop)
}

/** Returns the row to stop at, if there is one. */
async function takeChunks(
  chunks: AsyncIterable<readonly [Chunk, PackedChunk]>,
  saver: BatchSaver,
  strict: boolean,
  watcher: ImportWatcher,
): Promise<Reject | undefined> {
  for await (const [chunk, sealed] of chunks) {
    const { line, offset } = saver.progress()
    const rejected = sealed.rejects.map((reject) => ({ ...reject, line: line + reject.line }))
    const stop = strict ? rejected[0] : undefined
    if (stop) {
      // The chunk does not count as done: if the process ends now, it is imported again.
      await saver.add({ ...chunk, end: offset }, [], { ...sealed, lines: 0 })
      return stop
    }
    await saver.add(chunk, rejected, sealed)
    for (const reject of rejected) watcher.onReject(reject)
    watcher.onProgress(saver.progress())
  }
  return undefined
}

/** Sends chunks to the threads ahead of time, and returns the results in the order of the file. */
async function* sealInOrder(
  pool: SealingPool,
  chunks: AsyncIterable<Chunk>,
): AsyncGenerator<readonly [Chunk, PackedChunk]> {
  const inFlight: { readonly chunk: Chunk; readonly sealed: Promise<PackedChunk> }[] = []
  for await (const chunk of chunks) {
    inFlight.push({ chunk, sealed: chunk.skippedLines === undefined ? pool.seal(chunk.bytes) : skip(chunk) })
    const oldest = inFlight.length < MAX_IN_FLIGHT ? undefined : inFlight.shift()
    if (oldest) yield [oldest.chunk, await oldest.sealed]
  }
  for (const { chunk, sealed } of inFlight) yield [chunk, await sealed]
}

const skip = async ({ skippedLines: lines = 0 }: Chunk): Promise<PackedChunk> => ({
  packed: new Uint8Array(),
  count: 0,
  rejects: [{ line: 0, reason: TOO_LONG, row: '' }],
  lines,
})

/** The columns of a file, and where its rows begin. */
type Layout = { readonly columns: readonly Column[]; readonly start: Progress }

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')
const NOTHING_DONE = { records: 0, changed: 0, rejected: 0, rejectedBytes: 0 }

function readLayout(kind: Kind, format: Format, { head, name }: Input): Layout {
  const mark = head.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0
  const rows = splitRows(format, head.subarray(mark))
  if (format === 'ndjson') {
    // Before every row, which may hold a person, is copied to the rejected ones.
    if (isLikeHeader(rows.next().value?.bytes.toString() ?? ''))
      throw new UserError(`${name} looks like CSV. Give --format csv.`)
    return { columns: [], start: { ...NOTHING_DONE, offset: mark, line: 1 } }
  }
  for (const { bytes, end, line, lines } of rows) {
    if (bytes.length === 0) continue
    const columns = readColumns(kind, bytes, name)
    return { columns, start: { ...NOTHING_DONE, offset: mark + end, line: 1 + line + lines } }
  }
  throw new UserError(`${name} is empty.`)
}

function readColumns(kind: Kind, header: Buffer, name: string): Column[] {
  if (!isUtf8(header)) throw new UserError(`The header of ${name} is not UTF-8.`)
  try {
    return readHeader(kind, header.toString(), name)
  } catch (error) {
    if (error instanceof BadRow)
      throw new UserError(`The header of ${name} cannot be read: ${error.message}.`)
    throw error
  }
}

/** A keyed hash that identifies the file and reveals nothing about it; undefined for input that cannot be continued. */
function toImportId(
  keyring: Keyring,
  input: Input,
  { kind, format, rejectedPath }: ImportOptions,
): string | undefined {
  if (input.identity === undefined) return undefined
  return createHmac('sha256', keyring.digest)
    .update(['import', kind, format, resolve(rejectedPath), input.identity, ''].join('\n'))
    .update(input.head)
    .digest('hex')
}

/**
 * Rows of a commit are sorted, so the more there are, the fewer pages of the index change for each. Few enough that a
 * verification waits less than a second for the commit, and that memory stays flat, even with pictures.
 */
const BATCH_ROWS = 10_000
const BATCH_BYTES = 16 * 1024 * 1024

type BatchSaver = {
  readonly progress: () => Progress
  /** Adds a chunk, in the order of the file. Saves when the batch is full. */
  readonly add: (chunk: Chunk, rejected: readonly Reject[], sealed: PackedChunk) => Promise<void>
  readonly flush: () => Promise<void>
}

type BatchSaverOptions = {
  readonly table: Pick<RegistryTable, 'save'>
  readonly kind: Kind
  readonly keyVersion: number
  readonly rejects: Rejects
  readonly importId: string | undefined
  readonly start: Progress
}

function createBatchSaver(options: BatchSaverOptions): BatchSaver {
  const { table, kind, keyVersion, rejects, importId } = options
  let progress = options.start
  let packs: Uint8Array<ArrayBuffer>[] = []
  let size = { rows: 0, bytes: 0 }

  const flush = async () => {
    const saved = { ...progress, rejectedBytes: rejects.sync() }
    const state = (changed: number) => JSON.stringify({ ...saved, changed: saved.changed + changed })
    const rows = packs.flatMap((packed) => unpackRows(kind, keyVersion, packed))
    const changed = await table.save({
      records: rows.map(({ record }) => record),
      media: toPictures(rows),
      at: Date.now(),
      ...(importId === undefined ? {} : { progress: { id: importId, state } }),
    })
    progress = { ...saved, changed: saved.changed + changed }
    // Frees the memory now; the garbage collector would let much of it accumulate first.
    for (const packed of packs) packed.buffer.transfer(0)
    packs = []
    size = { rows: 0, bytes: 0 }
  }

  const add = async (chunk: Chunk, rejected: readonly Reject[], sealed: PackedChunk) => {
    packs.push(sealed.packed)
    rejects.write(rejected)
    size = { rows: size.rows + sealed.count, bytes: size.bytes + sealed.packed.length }
    progress = {
      ...progress,
      offset: chunk.end,
      line: progress.line + sealed.lines,
      records: progress.records + sealed.count + rejected.length,
      rejected: progress.rejected + rejected.length,
    }
    if (size.rows >= BATCH_ROWS || size.bytes >= BATCH_BYTES) await flush()
  }
  return { progress: () => progress, add, flush }
}

/** The pictures of the rows that are saved: of several rows of one person, the last. */
function toPictures(rows: readonly SealedRow[]): SealedMedia[] {
  if (rows.every(({ media }) => media === undefined)) return []
  const bySubject = new Map(
    rows.map(({ record, media }) => [Buffer.from(record.subject).toString('latin1'), media]),
  )
  return [...bySubject.values()].filter((media) => media !== undefined)
}

/** The file of rejected rows. Created with the first one; only its owner may read it. */
type Rejects = {
  readonly write: (rejects: readonly Reject[]) => void
  /** Makes the written rows durable, and returns the length of the file. */
  readonly sync: () => number
  readonly close: () => void
}

/** `keptBytes` is the durable length of the file when the import was interrupted. */
function openRejects(path: string, keptBytes: number): Rejects {
  if (keptBytes === 0) removeOld(path)
  let file = keptBytes === 0 ? undefined : reopen(path, keptBytes)
  let length = file === undefined ? 0 : fstatSync(file).size
  let unsure = false
  return {
    write: (rejects) => {
      if (rejects.length === 0) return
      const text = rejects.map((reject) => `${JSON.stringify(reject)}\n`).join('')
      orRefuse(path, () => {
        file ??= openSync(path, 'a', 0o600)
        // Unlike `writeSync`, it never writes only a part of the text.
        writeFileSync(file, text)
      })
      length += Buffer.byteLength(text)
      unsure = true
    },
    sync: () => {
      if (file !== undefined && unsure && fstatSync(file).isFile()) fdatasyncSync(file)
      unsure = false
      return length
    },
    close: () => {
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}

/** How each line begins: see Reject. */
const REJECT_START = '{"line":'

/** Deletes the file of an earlier import. Anything but a file (/dev/null) is left alone, and a file of another kind is refused. */
function removeOld(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats?.isFile() && stats.size > 0 && !orRefuse(path, () => beginsWith(path, REJECT_START)))
    throw new UserError(
      `${path} exists, and no import has written it. Choose another file with --rejected, or move it away.`,
    )
  if (stats?.isFile() || stats?.isSymbolicLink()) orRefuse(path, () => rmSync(path))
}

function beginsWith(path: string, start: string): boolean {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(start.length)
    return bytes.toString('latin1', 0, readSync(file, bytes)) === start
  } finally {
    closeSync(file)
  }
}

function reopen(path: string, keptBytes: number): number {
  const file = orRefuse(path, () => openSync(path, 'a', 0o600))
  const stats = fstatSync(file)
  if (stats.isFile() && stats.size > keptBytes) ftruncateSync(file, keptBytes)
  return file
}

function orRefuse<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new UserError(`${path} cannot be written (${code}). Choose another file with --rejected.`)
  }
}
