import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { UserError } from '../../errors.ts'
import type { Place } from './archive-format.ts'

/** A file that is written from its beginning to its end. */
export type ArchiveFile = {
  readonly append: (bytes: Uint8Array) => Promise<Place>
  /** The size so far. */
  readonly size: () => number
  /** The SHA-256 of everything so far, in hex. */
  readonly digest: () => string
  /** Resolves when it is on disk. */
  readonly finish: () => Promise<void>
  /** Closes the file and deletes it. */
  readonly remove: () => Promise<void>
}

/** An interrupted run may have left this file: it is overwritten. */
export async function createArchiveFile(path: string): Promise<ArchiveFile> {
  const file = await open(path, 'w', 0o600).catch((error) => {
    throw toWriteError(path, error)
  })
  const hash = createHash('sha256')
  let size = 0
  return {
    append: async (bytes) => {
      const place = { at: size, length: bytes.length }
      await file.writeFile(bytes).catch((error) => {
        throw toWriteError(path, error)
      })
      hash.update(bytes)
      size += bytes.length
      return place
    },
    size: () => size,
    digest: () => hash.copy().digest('hex'),
    finish: async () => {
      try {
        await file.sync()
      } catch (error) {
        throw toWriteError(path, error)
      } finally {
        await file.close()
      }
    },
    remove: async () => {
      await file.close().catch(() => {})
      await rm(path, { force: true })
    },
  }
}

/** Gives the file its name, which no other file may have. Durable when it resolves. */
export async function publishFile(draft: string, path: string): Promise<void> {
  await link(draft, path).then(
    () => rm(draft),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST' || existsSync(path)) throw toExists(path)
      // Some file systems have no links.
      return rename(draft, path).catch((failure) => {
        throw toWriteError(path, failure)
      })
    },
  )
  // Windows cannot open folders.
  const folder = await open(dirname(path)).catch(() => undefined)
  await folder?.sync().finally(() => folder.close())
}

export const toExists = (path: string) =>
  new UserError(`${path} exists already. Give another name: an archive is never overwritten.`)

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'the folder does not exist',
  EROFS: 'the file system is read-only',
}

function toWriteError(path: string, error: unknown): UserError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
  return new UserError(`${path} cannot be written: ${REASONS[code] ?? code}. No audit row was removed.`)
}
