import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { UserError } from '../../errors.ts'
import type { Reject } from './seal-chunk.ts'

/** The file of rejected rows. Created with the first one; only its owner may read it. */
export type Rejects = {
  readonly write: (rejects: readonly Reject[]) => void
  /** Makes the written rows durable, and returns the length of the file. */
  readonly sync: () => number
  readonly close: () => void
}

/** `keptBytes` is the durable length of the file when the import was interrupted. */
export function openRejects(path: string, keptBytes: number): Rejects {
  if (keptBytes === 0) removeOld(path)
  let file = keptBytes === 0 ? undefined : reopen(path, keptBytes)
  let length = file === undefined ? 0 : fstatSync(file).size
  let unsure = false
  return {
    write: (rejects) => {
      if (rejects.length === 0) return
      const text = rejects.map((reject) => `${JSON.stringify(reject)}\n`).join('')
      length += orRefuse(path, () => {
        file ??= openSync(path, 'a', 0o600)
        return writeSync(file, text)
      })
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

/** Deletes the file of an earlier import. Anything but a file (/dev/null) is left alone. */
function removeOld(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats?.isFile() || stats?.isSymbolicLink()) orRefuse(path, () => rmSync(path))
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
