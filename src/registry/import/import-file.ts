import { availableParallelism } from 'node:os'
import type { Kind } from '../../crypto/blind-index.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import { UserError } from '../../errors.ts'
import type { RegistryTable } from '../registry-table.ts'
import { type BatchSaver, createBatchSaver } from './batch-saver.ts'
import { type Chunk, cutChunks } from './chunks.ts'
import type { Input } from './input.ts'
import { readLayout } from './layout.ts'
import { type Progress, readProgress, toImportId } from './progress.ts'
import { openRejects } from './rejects.ts'
import { type Format, TOO_LONG } from './rows.ts'
import type { PackedChunk, Reject } from './seal-chunk.ts'
import { openSealingPool, type SealingPool } from './sealing-pool.ts'

/** Chunks that are read but not saved yet: enough to keep the threads busy while a batch is saved. */
const MOST_IN_FLIGHT = 40
/** The thread that saves needs a part of one processor. */
const THREADS = Math.min(Math.max(availableParallelism(), 2), 4)
/** A single thread finishes this much before a second one has started. */
const SMALL_BYTES = 1024 * 1024

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
  const start = interrupted === undefined ? beginning : readProgress(interrupted)
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
    const oldest = inFlight.length < MOST_IN_FLIGHT ? undefined : inFlight.shift()
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
