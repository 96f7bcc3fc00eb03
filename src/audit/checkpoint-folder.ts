/**
 * The folder to which this node writes checkpoints: `checkpoints.log`, and its earlier parts. When the file reaches 64 MB it is
 * renamed to `checkpoints-TIME.log` and a new one begins. The part before the last one is compressed to `.log.gz`: by then no
 * process can have it open.
 */

import { createReadStream, createWriteStream } from 'node:fs'
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { makeFolder } from '../crypto/make-folder.ts'
import { UserError } from '../errors.ts'
import type { Checkpoint } from './audit-table.ts'
import { isPart, parseLine } from './checkpoint-file.ts'

export const CHECKPOINT_FILE = 'checkpoints.log'

const ROTATE_AT_BYTES = 64 * 1024 * 1024

/** Durable when it resolves. If a crash left an incomplete line, it is ended first. */
export async function appendCheckpoint(
  folder: string,
  checkpoint: Checkpoint,
  rotateAt = ROTATE_AT_BYTES,
): Promise<void> {
  await makeFolder(folder)
  const file = await open(join(folder, CHECKPOINT_FILE), 'a+', 0o600)
  let size: number
  try {
    size = (await file.stat()).size
    const last = Buffer.alloc(1, '\n')
    if (size > 0) await file.read(last, 0, 1, size - 1)
    await file.appendFile(`${last.toString() === '\n' ? '' : '\n'}${JSON.stringify(checkpoint)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  if (size >= rotateAt) await rotate(folder, checkpoint.time)
}

async function rotate(folder: string, time: string): Promise<void> {
  const parts = (await listParts(folder)).filter((name) => name.endsWith('.log'))
  // Windows allows no colon in a file name.
  await rename(join(folder, CHECKPOINT_FILE), join(folder, `checkpoints-${time.replaceAll(':', '-')}.log`))
  for (const part of parts) await compress(join(folder, part))
}

async function compress(path: string): Promise<void> {
  const draft = `${path}.gz.tmp`
  await pipeline(createReadStream(path), createGzip(), createWriteStream(draft, { mode: 0o600, flush: true }))
  await rename(draft, `${path}.gz`)
  await rm(path)
}

/** Earlier parts, the oldest first. */
const listParts = async (folder: string) => (await readdir(folder)).filter(isPart).toSorted()

/** The last checkpoint in the folder of this node. Reads only the end of the file, which may be large. */
export async function readLastCheckpoint(folder: string): Promise<Checkpoint | undefined> {
  const parts = await listParts(folder).catch(() => [])
  // A crash may have left no new file yet; the last part is never compressed.
  for (const name of [CHECKPOINT_FILE, ...parts.filter((part) => part.endsWith('.log')).toReversed()]) {
    const file = await open(join(folder, name)).catch(ignoreMissing)
    const last = await (file && readLast(file).finally(() => file.close()))
    if (last) return last
  }
  return undefined
}

/** A folder that cannot be written is reported when the next checkpoint is made. */
function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  const { code, path } = error
  if (code === 'EACCES')
    throw new UserError(
      `This user may not read ${path} (${code}). Run this as the user of the server, and give it access to the folders above.`,
    )
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
}

const TAIL_BYTES = 64 * 1024

/** From the end backwards. An incomplete line after a crash is skipped. */
async function readLast(file: FileHandle): Promise<Checkpoint | undefined> {
  const { size } = await file.stat()
  for (let length = Math.min(TAIL_BYTES, size); ; length = Math.min(length * 4, size)) {
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length)
    // The first line may begin before this part of the file.
    const lines = buffer
      .toString('utf8')
      .split('\n')
      .slice(length === size ? 0 : 1)
    const last = lines
      .toReversed()
      .map(parseLine)
      .find((each) => typeof each === 'object')
    if (last || length === size) return last
  }
}
