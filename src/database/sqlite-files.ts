import { type Stats, statSync } from 'node:fs'

/** The files at the path are no longer the open ones: further writes would be lost. */
class DatabaseLost extends Error {
  /** Shown in the log. */
  readonly code: string

  constructor(what: string) {
    super(`the database file ${what}`)
    this.name = 'DatabaseLost'
    this.code = `${LOST_CODE}: ${what}`
  }
}

/** Prefix of the codes. Only the code of an error crosses a thread boundary. */
export const LOST_CODE = 'DATABASE_LOST'

type FileCheck = {
  /** Throws DatabaseLost when a file was removed, replaced or truncated since the first check. */
  readonly check: () => void
}

const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/**
 * Compares the files at the path with those that SQLite opened. Uses stat only: opening and closing a file of the database in
 * this process would drop SQLite's locks on it (POSIX advisory locks belong to the process). `frames` returns the number of
 * frames in the write-ahead log and the page size: a shorter log is fine when another process has checkpointed it.
 */
export function createFileCheck(
  path: string,
  frames: () => { readonly count: number; readonly pageSize: number },
): FileCheck {
  const seen = new Map<string, Stats>()
  const look = (suffix: string, mayShrink: () => boolean) => {
    const now = statSync(path + suffix, { throwIfNoEntry: false })
    const before = seen.get(suffix)
    if (now) seen.set(suffix, now)
    if (!before) return
    const name = `tabbat.db${suffix}`
    if (!now) throw new DatabaseLost(`${name} was removed`)
    if (now.ino !== before.ino || now.dev !== before.dev) throw new DatabaseLost(`${name} was replaced`)
    if (now.size < before.size && !mayShrink()) throw new DatabaseLost(`${name} was truncated`)
  }
  /** Measured after the count, because other processes empty the log and write to it: frames that are added make it longer. */
  const holdsAllFrames = () => {
    const { count, pageSize } = frames()
    const bytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
    return count === 0 || bytes >= WAL_HEADER_BYTES + count * (FRAME_HEADER_BYTES + pageSize)
  }
  return {
    check: () => {
      look('', () => false)
      // Again, because the log may have been emptied between the count and the measure.
      look('-wal', () => holdsAllFrames() || holdsAllFrames())
      look('-shm', () => true)
    },
  }
}
