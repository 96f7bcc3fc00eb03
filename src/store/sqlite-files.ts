import { type Stats, statSync } from 'node:fs'

/** The files of an open database are not the ones at its path any more: what is written now would be lost. */
export class DatabaseLost extends Error {
  /** The log shows it. */
  readonly code: string

  constructor(what: string) {
    super(`the database file ${what}`)
    this.name = 'DatabaseLost'
    this.code = `${LOST_CODE}: ${what}`
  }
}

/** How the codes of what was lost begin. Errors cross the border of a thread as their codes. */
export const LOST_CODE = 'DATABASE_LOST'

export type FileCheck = {
  /** Throws DatabaseLost when a file was removed, replaced or cut short since the first check. */
  readonly check: () => void
}

const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/**
 * Compares the files at the path with those that SQLite opened. Only their names are looked at: to open and close a file
 * of the database in this process would drop SQLite's own locks on it (POSIX advisory locks belong to the process).
 * `frames` says how many frames the write-ahead log holds, and of which page size: another program may empty it rightly.
 */
export function createFileCheck(
  path: string,
  frames: () => { readonly count: number; readonly pageSize: number },
): FileCheck {
  const seen = new Map<string, Stats>()
  const look = (suffix: string, mayShrink: (bytes: number) => boolean) => {
    const now = statSync(path + suffix, { throwIfNoEntry: false })
    const before = seen.get(suffix)
    if (now) seen.set(suffix, now)
    if (!before) return
    const name = `tabbat.db${suffix}`
    if (!now) throw new DatabaseLost(`${name} was removed`)
    if (now.ino !== before.ino || now.dev !== before.dev) throw new DatabaseLost(`${name} was replaced`)
    if (now.size < before.size && !mayShrink(now.size)) throw new DatabaseLost(`${name} was cut short`)
  }
  const holdsAllFrames = (bytes: number) => {
    const { count, pageSize } = frames()
    return count === 0 || bytes >= WAL_HEADER_BYTES + count * (FRAME_HEADER_BYTES + pageSize)
  }
  return {
    check: () => {
      look('', () => false)
      look('-wal', holdsAllFrames)
      look('-shm', () => true)
    },
  }
}
