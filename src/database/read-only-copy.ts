import { accessSync, constants, copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { UserError } from '../errors.ts'

const PARTS = ['', '-wal'] as const
const MAX_TRIES = 5

export type ReadableFile = { readonly path: string; readonly remove: () => void }

/**
 * A path at which the database can be opened for reading. SQLite cannot open a database with a write-ahead log on a read-only
 * file system; then this is a copy in the temporary folder.
 */
export function copyIfReadOnly(path: string): ReadableFile {
  if (!isReadOnly(path)) return { path, remove: () => {} }
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-read-only-'))
  const copy = join(folder, basename(path))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    copyUnchanged(path, copy)
    return { path: copy, remove }
  } catch (error) {
    remove()
    if (error instanceof UserError) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new UserError(
      `${path} is on a read-only file system and cannot be copied to ${tmpdir()} (${code}). Make room there, or set TMPDIR.`,
    )
  }
}

/** Whether the file is on a read-only file system. */
export function isReadOnly(path: string): boolean {
  try {
    accessSync(dirname(path), constants.W_OK)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS'
  }
}

/** The folder may be writable for another machine: a copy taken during a write is unusable, so it is taken again. */
function copyUnchanged(path: string, copy: string): void {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const before = describe(path)
    for (const part of PARTS) {
      rmSync(copy + part, { force: true })
      if (statSync(path + part, { throwIfNoEntry: false })) copyFileSync(path + part, copy + part)
    }
    if (describe(path) === before) return
  }
  throw new UserError(`${path} is being written. Run this where the server runs.`)
}

const describe = (path: string) =>
  PARTS.map((part) => statSync(path + part, { throwIfNoEntry: false }))
    .map((stats) => `${stats?.size} ${stats?.mtimeMs}`)
    .join()
