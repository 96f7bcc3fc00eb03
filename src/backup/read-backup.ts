import { createReadStream, statSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { RootKeys } from '../crypto/root-key.ts'
import { UserError } from '../errors.ts'
import { Altered, Damaged } from './lines.ts'
import { type Contents, parseBackup, type Rows } from './parse-backup.ts'

type ReadOptions = {
  readonly onRows: (rows: Rows) => Promise<void> | void
  /** Bytes read so far, size of the file, and rows read. */
  readonly onProgress?: (done: number, total: number, rows: number) => void
}

/** Reads a backup to its end. A change or damage may be found only there: read it once before acting on it. */
export async function readBackup(
  file: string,
  rootKeys: RootKeys,
  { onRows, onProgress = () => {} }: ReadOptions,
): Promise<Contents> {
  let count = 0
  try {
    const stats = statSync(file)
    // A pipe can be read once only, and its second reading would wait for ever.
    if (!stats.isFile() && !stats.isDirectory())
      throw new UserError(`${file} is not a file. Write the backup to a file first. Nothing was changed.`)
    const total = stats.size
    const input = createReadStream(file)
    return await pipeline(input, createGunzip(), (text) =>
      parseBackup(text, rootKeys, async (rows) => {
        await onRows(rows)
        count += rows.rows.length
        onProgress(input.bytesRead, total, count)
      }),
    )
  } catch (error) {
    throw toRefusal(file, error)
  }
}

function toRefusal(file: string, error: unknown): unknown {
  const { code = '', syscall } = error as NodeJS.ErrnoException
  if (error instanceof Damaged || /^Z_/.test(code))
    return new UserError(
      `${file} is damaged, cut off, or not a backup of Tabbat. Take another one. Nothing was changed.`,
    )
  if (error instanceof Altered)
    return new UserError(
      `${file} was changed after it was written, or is damaged: its MAC does not fit its content. Take another one. Nothing was changed.`,
    )
  if (code === 'ENOENT') return new UserError(`There is no file ${file}.`)
  if (syscall === 'open' || syscall === 'read' || syscall === 'stat')
    return new UserError(`${file} cannot be read (${code}).`)
  return error
}
