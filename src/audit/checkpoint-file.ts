import { createReadStream, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { CHECKPOINT_EVENT } from '../contract/event.ts'
import { UserError } from '../errors.ts'
import type { Checkpoint } from './audit-table.ts'

/**
 * Checkpoints outside the database: a copy of a checkpoints.log, a folder with its parts, or a file of received webhooks, one event
 * a line. `path` is how messages name it.
 */
export type CheckpointFile = { readonly path: string; readonly parts: readonly Part[] }

/** One file, with its size when it was opened. */
type Part = { readonly path: string; readonly size: number }

/** Call it before the database is read: what the file holds by then, the database must hold as well. */
export function findCheckpointFile(path: string, shownPath = path): CheckpointFile {
  try {
    const names = statSync(path).isDirectory() ? listFiles(path) : [path]
    const parts = names.map((name) => ({ path: name, stats: statSync(name) }))
    if (parts.length > 0 && parts.every(({ stats }) => stats.isFile()))
      return { path: shownPath, parts: parts.map((part) => ({ path: part.path, size: part.stats.size })) }
  } catch {
    // Reported below.
  }
  throw new UserError(
    `${shownPath} cannot be read, or is a folder without a checkpoints.log. Check the path and its permissions.`,
  )
}

/** An earlier part of checkpoints.log; see checkpoint-folder.ts. */
export const isPart = (name: string) => /^checkpoints-[0-9T.Z-]+\.log(\.gz)?$/.test(name)

/** The oldest first. A part that is being compressed may be there twice. */
function listFiles(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => isPart(name) || name === 'checkpoints.log')
  return names
    .filter((name) => !names.includes(`${name}.gz`))
    .toSorted()
    .map((name) => join(folder, name))
}

/** Line by line. Undefined is an incomplete line, which a crash during a write leaves behind. */
export async function* readCheckpoints({ parts }: CheckpointFile): AsyncIterable<Checkpoint | undefined> {
  for (const part of parts) {
    try {
      yield* readPart(part)
    } catch {
      throw new UserError(`${part.path} cannot be read to its end: it is damaged or incomplete.`)
    }
  }
}

async function* readPart({ path, size }: Part): AsyncIterable<Checkpoint | undefined> {
  if (size === 0) return
  const bytes = createReadStream(path, { end: size - 1 })
  // The reader of lines reports the error.
  const text = path.endsWith('.gz') ? pipeline(bytes, createGunzip(), () => {}) : bytes
  const input = Readable.from(refuseLongLines(text))
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    const parsed = line.trim() === '' ? OTHER_EVENT : parseLine(line)
    if (parsed !== OTHER_EVENT) yield parsed
  }
}

/** A checkpoint of many chains is far below this. */
const MAX_LINE_BYTES = 16 * 1024 * 1024

/** A small compressed file may unpack to a line that does not fit into memory. */
async function* refuseLongLines(pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let length = 0
  for await (const piece of pieces) {
    const end = piece.lastIndexOf('\n')
    length = end === -1 ? length + piece.length : piece.length - end
    if (length > MAX_LINE_BYTES) throw new Error('a line is too long')
    yield piece
  }
}

/** A receiver may write all its events to one file. */
const OTHER_EVENT = 'other event'

/** A line of checkpoints.log, or an event. Undefined: neither, or incomplete. */
export function parseLine(line: string): Checkpoint | typeof OTHER_EVENT | undefined {
  // After an incomplete line, the next one may follow without a line break.
  const value = parseObject(line) ?? parseObject(line.slice(findLastStart(line)))
  if (typeof value?.type === 'string' && value.type !== CHECKPOINT_EVENT) return OTHER_EVENT
  const { time, body, signature } = (value?.data ?? value ?? {}) as Readonly<Record<string, unknown>>
  return typeof time === 'string' && typeof body === 'string' && typeof signature === 'string'
    ? { time, body, signature }
    : undefined
}

const findLastStart = (line: string) =>
  Math.max(line.lastIndexOf('{"time":'), line.lastIndexOf(`{"type":"${CHECKPOINT_EVENT}"`), 0)

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(text) as Readonly<Record<string, unknown>> | null
    return typeof value === 'object' ? (value ?? undefined) : undefined
  } catch {
    return undefined
  }
}
