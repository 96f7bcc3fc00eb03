import { mkdirSync, type Stats, statSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

/** Only its owner may read it. */
const PRIVATE = 0o700

/**
 * Makes a folder and those above it, if they are missing. mkdir of Node.js 24 with `recursive` tries for ever under /proc, where
 * none can be made and the system says that something is missing.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: PRIVATE })
  } catch (error) {
    if (isFolder(await stat(path).catch(() => undefined))) return
    const above = findAbove(path, error)
    await makeFolder(above)
    await mkdir(path, { mode: PRIVATE }).catch((again) => throwUnlessMade(again))
  }
}

/** The same before there are requests, which would wait for a disk that does not answer. */
export function makeFolderSync(path: string, mode = PRIVATE): void {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    if (isFolder(statSync(path, { throwIfNoEntry: false }))) return
    const above = findAbove(path, error)
    makeFolderSync(above, mode)
    try {
      mkdirSync(path, { mode })
    } catch (again) {
      throwUnlessMade(again)
    }
  }
}

const isFolder = (stats: Stats | undefined) => stats?.isDirectory() === true

/** The folder above, if that it is missing is why this one could not be made. */
function findAbove(path: string, error: unknown): string {
  const above = dirname(resolve(path))
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === resolve(path)) throw error
  return above
}

/** Another process may have been faster. */
function throwUnlessMade(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
}

/** Why a folder that someone has named cannot be used. What to do follows. */
export function toFolderProblem(path: string, error: unknown): string {
  const { code = 'unknown error' } = error as NodeJS.ErrnoException
  if (code === 'EEXIST') return `${path} is not a folder.`
  if (code === 'ENOTDIR') return `A part of ${path} is a file.`
  if (code === 'ENOENT') return `The folder ${path} cannot be made there.`
  if (code === 'ENOSPC') return `The disk of ${path} is full.`
  if (['EACCES', 'EPERM', 'EROFS'].includes(code)) return `This user may not write to ${path} (${code}).`
  return `${path} cannot be used (${code}).`
}
