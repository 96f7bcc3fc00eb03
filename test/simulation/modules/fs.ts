import * as fs from 'node:fs'

export * from 'node:fs'

/**
 * The thread pool would decide when an operation of a stream is done, and a run would turn the event loop until then; here each is
 * done at once.
 */
const now =
  (work: (...given: never[]) => unknown) =>
  (...given: unknown[]): void => {
    const done = given.pop() as (error: unknown, result?: unknown, buffer?: unknown) => void
    try {
      process.nextTick(done, null, work(...(given as never[])), given[1])
    } catch (error) {
      process.nextTick(done, error)
    }
  }

const AT_ONCE = {
  open: now(fs.openSync),
  read: now(fs.readSync),
  write: now(fs.writeSync),
  fsync: now(fs.fsyncSync),
  close: now(fs.closeSync),
}

export const createReadStream = (path: fs.PathLike, options: object = {}): fs.ReadStream =>
  fs.createReadStream(path, { ...options, fs: AT_ONCE as never })

export const createWriteStream = (path: fs.PathLike, options: object = {}): fs.WriteStream =>
  fs.createWriteStream(path, { ...options, fs: AT_ONCE as never })
