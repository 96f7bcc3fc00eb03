import { createReadStream, statSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { UserError } from '../errors.ts'
import type { Checkpoint } from '../store/audit-table.ts'

/** A checkpoints.log, as long as it was when it was found. */
export type CheckpointFile = { readonly path: string; readonly size: number }

/** To be called before the database is looked at: what is in the file by then, the database has to have. */
export function findCheckpointFile(path: string): CheckpointFile {
  try {
    const stats = statSync(path)
    if (stats.isFile()) return { path, size: stats.size }
  } catch {
    // Said below.
  }
  throw new UserError(`${path} cannot be read.`)
}

/** Line by line. Undefined is a line that cannot be read, as a crash in the middle of writing leaves behind. */
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

/** What was cut short by a crash is followed by the next checkpoint without a break. */
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
