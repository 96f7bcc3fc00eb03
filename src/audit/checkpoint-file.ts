import { createReadStream, statSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { UserError } from '../errors.ts'
import type { Checkpoint } from '../store/audit-table.ts'

/** A checkpoints.log, with its size when it was opened. */
export type CheckpointFile = { readonly path: string; readonly size: number }

/** Call it before the database is read: what the file holds by then, the database must hold as well. */
export function findCheckpointFile(path: string): CheckpointFile {
  try {
    const stats = statSync(path)
    if (stats.isFile()) return { path, size: stats.size }
  } catch {
    // Reported below.
  }
  throw new UserError(`${path} cannot be read. Check the path and its permissions.`)
}

/** Line by line. Undefined is an incomplete line, which a crash during a write leaves behind. */
export async function* readCheckpoints({
  path,
  size,
}: CheckpointFile): AsyncIterable<Checkpoint | undefined> {
  if (size === 0) return
  const input = createReadStream(path, { end: size - 1 })
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() !== '') yield parseLine(line)
  }
}

/** After an incomplete line, the next checkpoint may follow without a line break. */
function parseLine(line: string): Checkpoint | undefined {
  try {
    const value = JSON.parse(line.slice(Math.max(line.lastIndexOf('{"time":'), 0))) as unknown
    return isCheckpoint(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isCheckpoint = (value: unknown): value is Checkpoint =>
  typeof value === 'object' &&
  value !== null &&
  ['time', 'body', 'signature'].every(
    (name) => typeof (value as Readonly<Record<string, unknown>>)[name] === 'string',
  )
