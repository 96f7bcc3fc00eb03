import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { type BatchResult, type BatchRow, TabbatError } from '../../../packages/client/src/index.ts'
import { createResultCsv, type ResultRow } from '../../batches/batch-results.ts'
import type { BatchFormat, InputRow } from '../../batches/read-rows.ts'
import type { Kind } from '../../crypto/mac.ts'
import { ERRORS, UserError } from '../../errors.ts'
import { writeError } from '../output-path.ts'
import type { Progress } from '../progress.ts'
import { type CheckedFile, type Part, readFileRows, toApiRow } from './input-file.ts'
import { type OpenServer, serverError } from './open-server.ts'

export type Run = {
  readonly server: OpenServer
  readonly file: { readonly path: string; readonly kind: Kind; readonly format: BatchFormat }
  readonly checked: CheckedFile
  readonly out: string
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** Verifies the file part by part, and writes the results. An interrupted run continues where it was. */
export async function runFile(run: Run): Promise<Counts> {
  const { file, out, server } = run
  const stateFile = openStateFile(out)
  let state = findInterrupted(run) ?? toFirstState(run)
  stateFile.write(state)
  const output = openOutputFile(out, state.bytes)
  try {
    const writeRow = createWriteRow(output, out, file.kind, state.bytes === 0)
    for (let index = state.written; index < state.parts.length; index++) {
      const part = state.parts[index] as SentPart
      const sent = part.batch === null && part.readable > 0 ? await sendPart(run, part) : part
      state = { ...state, parts: state.parts.with(index, sent) }
      stateFile.write(state)
      const before = state.parts.slice(0, index).reduce((sum, { rows }) => sum + rows, 0)
      if (sent.batch !== null) await waitForBatch(run, sent.batch, before + part.rows)
      const counts = await writePart(run, sent, writeRow, state.counts)
      state = { ...state, counts, written: index + 1, bytes: output.sync() }
      stateFile.write(state)
    }
    output.finish()
    stateFile.remove()
    return state.counts
  } catch (error) {
    throw serverError(server, error)
  } finally {
    output.close()
  }
}

/** The state of an interrupted run of the same file at the same server. */
export function findInterrupted({
  server,
  checked,
  out,
}: Pick<Run, 'server' | 'checked' | 'out'>): RunState | undefined {
  const state = openStateFile(out).read()
  if (state && (state.digest !== checked.digest || state.server !== server.name))
    throw new UserError(
      `${out}.state belongs to another file, key or server. Delete it to start from the beginning, or choose another --out.`,
    )
  return state
}

const toFirstState = ({ server, checked }: Run): RunState => ({
  version: 1,
  digest: checked.digest,
  server: server.name,
  parts: checked.parts.map((part) => ({ ...part, idempotencyKey: randomUUID(), batch: null })),
  written: 0,
  bytes: 0,
  counts: { verified: 0, not_verified: 0, refused: 0, failed: 0, cancelled: 0 },
})

/** Sent again, a part is the same batch. */
async function sendPart(run: Run, part: SentPart): Promise<SentPart> {
  const rows: BatchRow[] = []
  for await (const row of readPart(run, part))
    if ('fields' in row) rows.push(toApiRow(run.file.kind, row.fields) as BatchRow)
  const { idempotencyKey } = part
  const { id } = await run.server.batches.create(rows, { idempotencyKey, signal: run.signal })
  return { ...part, batch: id }
}

async function* readPart({ file }: Run, part: SentPart): AsyncGenerator<InputRow> {
  for await (const row of readFileRows(file.path, file.kind, file.format)) {
    if (row.line > part.lastLine) return
    if (row.line >= part.firstLine) yield row
  }
}

const POLL_MS = 1000

/** Waits until all rows have ended. `end` is the number of rows of the file that are done then. */
async function waitForBatch(run: Run, id: string, end: number): Promise<void> {
  const { server, checked, progress, signal } = run
  for (;;) {
    const { state, counts } = await server.batches.get(id, { signal }).catch((error) => {
      if (!(error instanceof TabbatError && error.status === 404)) throw error
      throw new UserError(
        `${server.name} does not have the batch ${id} any more. Delete the state file to start from the beginning.`,
      )
    })
    progress.show(end - counts.waiting, checked.rows)
    if (state === 'completed' || state === 'cancelled') return
    await pause(POLL_MS, undefined, { signal })
  }
}

type WriteRow = (row: ResultRow) => void

/** Writes results as CSV, or as NDJSON if the name of the file says so. */
function createWriteRow(out: OutputFile, name: string, kind: Kind, isNew: boolean): WriteRow {
  if (/\.(ndjson|jsonl)$/i.test(name)) return (row) => out.write(`${JSON.stringify(row)}\n`)
  const csv = createResultCsv([kind])
  if (isNew) out.write(csv.header)
  return (row) => out.write(csv.toLine(row))
}

/** Writes the results of a part in the order of the file, with the rows that could not be read and were not sent. */
async function writePart(run: Run, part: SentPart, writeRow: WriteRow, before: Counts): Promise<Counts> {
  const { server, file, signal } = run
  const counts = { ...before }
  const results = part.batch === null ? undefined : server.batches.results(part.batch, { signal })
  try {
    for await (const row of readPart(run, part)) {
      const result = 'problem' in row ? toRefusal(file.kind, row.problem) : await readNext(server, results)
      counts[toOutcome(result)] += 1
      writeRow({ ...result, line: row.line })
    }
  } finally {
    await results?.return()
  }
  return counts
}

/** The results are in the order in which the rows were sent. */
async function readNext(
  { name }: OpenServer,
  results: AsyncGenerator<BatchResult, void> | undefined,
): Promise<BatchResult> {
  const next = await results?.next()
  if (next?.value) return next.value
  throw new UserError(`${name} has fewer results than rows were sent. Run the same command again.`)
}

/** A row that could not be read, and was not sent. */
function toRefusal(kind: Kind, problem: string): Omit<ResultRow, 'line'> {
  const { status, message } = ERRORS.validation_failed
  const about = { reference: null, operation: `verify_${kind}`, state: 'refused' } as const
  const answer = { status, success: false, code: 'validation_failed', message, match: null, data: null }
  return { ...about, ...answer, errors: [{ field: null, message: problem }] }
}

function toOutcome({ state, success, code }: Omit<ResultRow, 'line'>): keyof Counts {
  if (state === 'refused' || state === 'cancelled') return state
  if (success) return 'verified'
  return code === 'not_verified' ? code : 'failed'
}

/** How many rows ended in each way. */
export type Counts = Readonly<
  Record<'verified' | 'not_verified' | 'refused' | 'failed' | 'cancelled', number>
>

/** A part of the file, and the batch in which it was sent. */
type SentPart = Part & {
  /** Made before the part is sent, so that a second attempt gets the same batch. */
  readonly idempotencyKey: string
  readonly batch: string | null
}

/** How far a file was verified. It holds no personal data. */
type RunState = {
  readonly version: 1
  /** Keyed hash of the content of the file. */
  readonly digest: string
  readonly server: string
  readonly parts: readonly SentPart[]
  /** Parts whose results are written, and how long the partial file was then. */
  readonly written: number
  readonly bytes: number
  /** Of the written parts. */
  readonly counts: Counts
}

type StateFile = {
  readonly read: () => RunState | undefined
  readonly write: (state: RunState) => void
  readonly remove: () => void
}

/** Beside the results, under their name. Replaced as a whole, so that it is never incomplete. */
function openStateFile(out: string): StateFile {
  const path = `${out}.state`
  return {
    read: () => {
      try {
        return toState(readFileSync(path, 'utf8'))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw new UserError(`${path} cannot be read. Delete it to start from the beginning.`)
      }
    },
    write: (state) => {
      try {
        replaceFile(path, `${JSON.stringify(state)}\n`)
      } catch (error) {
        throw writeError(path, error)
      }
    },
    remove: () => rmSync(path, { force: true }),
  }
}

function replaceFile(path: string, text: string): void {
  const next = `${path}.next`
  const file = openSync(next, 'w', 0o600)
  try {
    // Unlike `writeSync`, it never writes only a part of the text.
    writeFileSync(file, text)
    fsyncSync(file)
    renameSync(next, path)
  } catch (error) {
    rmSync(next, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
}

function toState(text: string): RunState {
  const state = JSON.parse(text) as RunState
  if (state.version !== 1 || !Array.isArray(state.parts)) throw new Error('not a state file')
  return state
}

/** The results while they are written: a partial file beside the final one. Only its owner may read it. */
type OutputFile = {
  readonly write: (text: string) => void
  /** Makes what was written durable, and returns the length. */
  readonly sync: () => number
  /** Gives the file its name. */
  readonly finish: () => void
  readonly close: () => void
}

/** `keptBytes` is the durable length when the run was interrupted: what follows is written again. */
function openOutputFile(out: string, keptBytes: number): OutputFile {
  const partial = `${out}.partial`
  const orRefuse = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw writeError(partial, error)
    }
  }
  const file = orRefuse(() => openSync(partial, keptBytes === 0 ? 'w' : 'r+', 0o600))
  orRefuse(() => ftruncateSync(file, keptBytes))
  let length = keptBytes
  let isOpen = true
  const close = () => {
    if (isOpen) closeSync(file)
    isOpen = false
  }
  return {
    write: (text) => {
      const bytes = Buffer.from(text)
      for (let done = 0; done < bytes.length; )
        done += orRefuse(() => writeSync(file, bytes, done, bytes.length - done, length + done))
      length += bytes.length
    },
    sync: () => {
      orRefuse(() => fdatasyncSync(file))
      return length
    },
    finish: () => {
      orRefuse(() => fdatasyncSync(file))
      close()
      orRefuse(() => renameSync(partial, out))
    },
    close,
  }
}
