import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { UserError } from '../errors.ts'

/**
 * Writes a temporary file and renames it when it is complete and on disk, so that the file is never incomplete. Only its owner
 * may read it.
 */
export async function writeAtomically<T>(
  file: string,
  force: boolean,
  write: (partial: string) => Promise<T>,
): Promise<T> {
  refuseExisting(file, force)
  const partial = `${file}.partial`
  const started = create(partial)
  try {
    const result = await write(partial)
    refuseExisting(file, force)
    if (statSync(partial).ino !== started)
      throw new UserError(`Another backup is being written to ${file}. Nothing was changed by this one.`)
    renameSync(partial, file)
    syncFolder(dirname(file))
    return result
  } catch (error) {
    rmSync(partial, { force: true })
    throw toRefusal(partial, error)
  }
}

function refuseExisting(file: string, force: boolean): void {
  if (!force && existsSync(file))
    throw new UserError(`${file} exists. Give another name, or --force to replace it.`)
}

/** Deletes what an interrupted run left, and creates the temporary file. Returns its inode. */
function create(partial: string): number {
  try {
    rmSync(partial, { force: true })
    closeSync(openSync(partial, 'wx', 0o600))
    return statSync(partial).ino
  } catch (error) {
    throw toRefusal(partial, error)
  }
}

function syncFolder(folder: string): void {
  const opened = openSync(folder, 'r')
  fsyncSync(opened)
  closeSync(opened)
}

function toRefusal(partial: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC')
    return new UserError(`The disk of ${partial} is full. Free some space, or write to another disk.`)
  if (syscall === undefined) return error
  const folder = dirname(resolve(partial))
  if (!existsSync(folder))
    return new UserError(`There is no folder ${folder}. Create it, or give another file.`)
  return new UserError(`${partial} cannot be written (${code}). Give another file.`)
}
