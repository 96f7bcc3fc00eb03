import { randomUUID } from 'node:crypto'
import { accessSync, constants, statSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { UserError } from '../errors.ts'

/** Refuses a file that cannot be written, before anything is asked, sent or recorded. */
export function requireOutput(out: string, mayReplace: boolean | undefined): void {
  const folder = dirname(resolve(out))
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new UserError(
      code === 'ENOENT'
        ? `There is no folder ${folder}. Create it, or give another file.`
        : `This user may not write to ${folder} (${code}). Give another file.`,
    )
  }
  const existing = statSync(out, { throwIfNoEntry: false })
  if (existing?.isDirectory()) throw new UserError(`${out} is a folder. Give a file.`)
  if (existing && !mayReplace)
    throw new UserError(`${out} exists. Give another name, or --force to replace it.`)
}

/**
 * Writes a file that only its owner can read. It is there when it is complete: an existing one stays until then, and a failure leaves
 * no part of it.
 */
export async function writeOutput(out: string, text: string, mayReplace: boolean | undefined): Promise<void> {
  const draft = join(dirname(resolve(out)), `.tabbat-${randomUUID()}.draft`)
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' })
    // Another may have appeared meanwhile.
    requireOutput(out, mayReplace)
    await rename(draft, out)
  } catch (error) {
    throw error instanceof UserError ? error : writeError(out, error)
  } finally {
    await rm(draft, { force: true })
  }
}

/** A failed write as a sentence for the operator. */
export function writeError(path: string, error: unknown): UserError {
  const { code = 'unknown error' } = error as NodeJS.ErrnoException
  return new UserError(
    code === 'ENOSPC'
      ? `The disk of ${path} is full. Free some space, and run the same command again.`
      : `${path} cannot be written (${code}). Give another file.`,
  )
}
