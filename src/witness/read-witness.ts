import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CheckpointFile, findCheckpointFile } from '../audit/checkpoint-file.ts'
import { UserError } from '../errors.ts'
import { openHttp } from '../sources/http.ts'
import { SourceError } from '../sources/source.ts'
import type { Checkpoint } from '../store/audit-table.ts'
import { openWitnessFile } from '../store/witness-file.ts'
import { readWitnessPostgres } from '../store/witness-log.ts'
import { toShownTarget, type WitnessTarget } from './target.ts'

/**
 * Copies all checkpoints of the witness to a temporary file, calls the work with it, and deletes it. Call it before the
 * audit log is read: what the witness has by then, the database must have as well.
 */
export async function withWitnessCopy<T>(
  target: WitnessTarget,
  allowPrivate: boolean,
  work: (file: CheckpointFile) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-witness-'))
  try {
    const path = join(folder, 'checkpoints.log')
    writeFileSync(path, '', { mode: 0o600 })
    for await (const page of readPages(target, allowPrivate)) appendFileSync(path, page.map(toLine).join(''))
    return await work({ ...findCheckpointFile(path), path: toWitnessName(target) })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const toWitnessName = (target: WitnessTarget) => `the witness ${toShownTarget(target)}`

const toLine = ({ time, body, signature }: Checkpoint) => `${JSON.stringify({ time, body, signature })}\n`

async function* readPages(target: WitnessTarget, allowPrivate: boolean): AsyncIterable<Checkpoint[]> {
  try {
    if (target.kind === 'webhook') yield* readWebhook(target, allowPrivate)
    else if (target.kind === 'postgres') yield* readWitnessPostgres(target.url)
    else yield* readFile(target.path)
  } catch (error) {
    if (error instanceof UserError) throw error
    throw toUnreadable(target, error)
  }
}

function* readFile(path: string): Iterable<Checkpoint[]> {
  const file = openWitnessFile(path, { isReading: true })
  try {
    yield* file.pages()
  } finally {
    file.close()
  }
}

/** A checkpoint may have arrived several times, and a page may hold one. */
const MOST_REPEATED = 20
/** Without this, the list would never end. */
const SAME_PAGE =
  'The webhook of the witness returns the same checkpoints for another position: it must answer ?from=N from position N on. See docs/audit-format.md.'

/** Pages by position: the list of a witness only grows. */
async function* readWebhook(
  { url, token }: Extract<WitnessTarget, { kind: 'webhook' }>,
  allowPrivate: boolean,
): AsyncIterable<Checkpoint[]> {
  const { send, close } = openHttp({ source: 'witness', url, allowPrivate })
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  // Below the address itself.
  const path = new URL(url).pathname === '/' ? '/' : ''
  const call = { signal: new AbortController().signal, reference: '' }
  try {
    let previous: string | undefined
    let repeated = 0
    for (let from = 0; ; ) {
      const request = { method: 'GET', path, query: { from: String(from) }, headers } as const
      const { status, body } = await send(request, call)
      if (status !== 200) throw new SourceError('witness', 'bad_response', { problem: 'unknown_path' })
      const page = toPage(body)
      const first = page[0]?.signature
      if (first === undefined) return
      repeated = first === previous ? repeated + 1 : 0
      if (repeated === MOST_REPEATED) throw new UserError(SAME_PAGE)
      yield page
      previous = first
      from += page.length
    }
  } finally {
    await close()
  }
}

function toPage(body: unknown): Checkpoint[] {
  const { checkpoints } = (body ?? {}) as { checkpoints?: unknown }
  const isText = (each: unknown) =>
    ['time', 'body', 'signature'].every(
      (name) => typeof (each as Record<string, unknown> | null)?.[name] === 'string',
    )
  if (Array.isArray(checkpoints) && checkpoints.every(isText)) return checkpoints as Checkpoint[]
  throw new SourceError('witness', 'bad_response', { problem: 'unknown_shape' })
}

function toUnreadable(target: WitnessTarget, error: unknown): UserError {
  const { code, problem } = error as { code?: unknown; problem?: unknown }
  const advice =
    target.kind === 'webhook'
      ? 'A webhook that gives nothing back can still be used: fetch its file, and give it with --checkpoints.'
      : 'Check TABBAT_WITNESS, and that its table exists: see docs/audit-format.md.'
  return new UserError(
    `The witness ${toShownTarget(target)} cannot be read (${problem ?? code ?? 'failed'}). ${advice}`,
  )
}
