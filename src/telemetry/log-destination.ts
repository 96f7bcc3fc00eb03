import { closeSync, openSync, writeSync } from 'node:fs'
import sonicBoom from 'sonic-boom'
import { UserError } from '../errors.ts'

/** Where the lines of the log go. */
type LogDestination = {
  readonly write: (lines: string) => void
  /** Opens the file again under its name, after it was renamed. */
  readonly reopen: () => void
}

/** A path, or the number of an open file: 2 is standard error. */
export const openLogDestination = (to: string | number): LogDestination =>
  typeof to === 'string' ? openFile(to) : openDescriptor(to)

// Node and the bundler of the console see the types of this CommonJS package differently.
const { SonicBoom } = sonicBoom as unknown as typeof import('sonic-boom')

/** sonic-boom writes all bytes to a slow pipe, too, where `fs.writeSync` fails with EAGAIN. */
function openDescriptor(fd: number): LogDestination {
  const destination = new SonicBoom({ fd, sync: true })
  let isClosed = false
  destination.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of the log has closed the pipe. The server goes on without a log.
    if (error.code !== 'EPIPE') throw error
    isClosed = true
  })
  return {
    write: (lines) => {
      if (!isClosed) destination.write(lines)
    },
    reopen: () => {},
  }
}

/** Several workers append to one file. Lines that cannot be written are lost, and standard error says so once. */
function openFile(path: string): LogDestination {
  let file = openOrRefuse(path)
  let hasFailed = false
  const attempt = (work: () => void) => {
    try {
      work()
      hasFailed = false
    } catch (error) {
      if (!hasFailed) complain(path, error)
      hasFailed = true
    }
  }
  return {
    write: (lines) => attempt(() => writeAll(file, Buffer.from(lines))),
    reopen: () =>
      attempt(() => {
        const next = openToAppend(path)
        closeSync(file)
        file = next
      }),
  }
}

const openToAppend = (path: string) => openSync(path, 'a', 0o640)

function openOrRefuse(path: string): number {
  try {
    return openToAppend(path)
  } catch (error) {
    throw new UserError(
      `The log file ${path} cannot be opened (${codeOf(error)}). Check TABBAT_LOG_FILE and its folder.`,
    )
  }
}

function writeAll(file: number, bytes: Buffer): void {
  for (let start = 0; start < bytes.length; ) start += writeSync(file, bytes, start)
}

const complain = (path: string, error: unknown) =>
  void process.stderr.write(`error: The log file ${path} cannot be written (${codeOf(error)}).\n`)

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? 'unknown error'
