import { closeSync, openSync, writeSync } from 'node:fs'
import sonicBoom from 'sonic-boom'
import { UserError } from '../errors.ts'

export type Log = {
  readonly request: (line: RequestLine) => void
  /** An event of the server itself: fixed words and figures, nothing from a request. */
  readonly event: (
    level: 'info' | 'warn' | 'error',
    event: string,
    figures?: Record<string, string | number>,
  ) => void
  /** A bug or a failed dependency: its kind, its place and its count. Messages are left out: they may quote their input. */
  readonly failure: (error: unknown, requestId?: string, traceId?: string) => void
  /** To be called at the end. */
  readonly flush: () => void
  /** Opens the file of the log again, after a rotation has renamed it. */
  readonly reopen: () => void
}

type LoggedIds = { readonly request_id: string; readonly trace_id?: string }

/** The levels of pino and bunyan, which log viewers know. */
const LEVELS: Readonly<Record<string, number>> = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
}

const WRITE_EVERY_MS = 200
const MAX_BUFFERED = 12_000

/** Writes JSON lines. They are buffered for a moment, so that a busy server makes one system call for many requests. */
export function createLog(level: string, to: string | number = 2): Log {
  const threshold = LEVELS[level] ?? Number.POSITIVE_INFINITY
  const toTime = createClock()
  const { write, flush, reopen } = createBuffer(to)
  const isRequestLogged = threshold <= 30
  const printRequest = createPrintRequest()
  const writeEvent = (at: 'info' | 'warn' | 'error', fields: object) => {
    const number = LEVELS[at] as number
    if (number >= threshold)
      write(`{"level":${number},"time":"${toTime()}",${JSON.stringify(fields).slice(1)}\n`)
  }
  const failures = createRepeatedFailures<LoggedIds & ReturnType<typeof describeFailure>>((line) =>
    writeEvent('error', { event: 'failure', ...line }),
  )
  const timer = setInterval(() => {
    failures.tick()
    flush()
  }, WRITE_EVERY_MS).unref()
  return {
    request: (line) => {
      if (!isRequestLogged) return
      write(printRequest(line, toTime(), line.isOwnId ? line.requestId : toLoggedId(line.requestId)))
    },
    event: (at, event, figures = {}) => writeEvent(at, { event, ...figures }),
    failure: (error, requestId = '', traceId) =>
      failures.add({
        request_id: toLoggedId(requestId),
        ...(traceId === undefined ? {} : { trace_id: traceId }),
        ...describeFailure(error),
      }),
    flush: () => {
      clearInterval(timer)
      failures.end()
      flush()
    },
    reopen: () => {
      reopen()
      writeEvent('info', { event: 'log_reopened' })
    },
  }
}

function createBuffer(to: string | number) {
  const destination = openLogDestination(to)
  let lines = ''
  const flush = () => {
    if (lines !== '') destination.write(lines)
    lines = ''
  }
  return {
    write: (line: string) => {
      lines += line
      if (lines.length > MAX_BUFFERED) flush()
    },
    flush,
    reopen: () => {
      flush()
      destination.reopen()
    },
  }
}

const toLoggedId = (id: string) => (isDrawnByChance(id) ? id : "[the caller's own]")

/** Kind, code and stack frames of an error and of its causes, without a message. */
export function describeFailure(error: unknown): { error: string; at: string[]; cause?: object } {
  if (!(error instanceof Error)) return { error: typeof error, at: [] }
  const code = (error as { code?: unknown }).code
  const frames = (error.stack ?? '').split('\n').filter((line) => /^ {4}at /.test(line))
  return {
    error: typeof code === 'string' ? `${error.name} ${code}` : error.name,
    at: frames.slice(0, 8).map((line) => line.trim()),
    ...(error.cause === undefined ? {} : { cause: describeFailure(error.cause) }),
  }
}

/** The time as text. Many requests share a second, and some a millisecond. */
function createClock(): () => string {
  let [second, last] = [-1, -1]
  let [prefix, text] = ['', '']
  return () => {
    const now = Date.now()
    if (now === last) return text
    last = now
    const milliseconds = now % 1000
    if (now - milliseconds !== second) {
      second = now - milliseconds
      prefix = new Date(second).toISOString().slice(0, -4)
    }
    text = `${prefix}${String(milliseconds).padStart(3, '0')}Z`
    return text
  }
}

/** One line a request. Nothing else of a request reaches the log: no address, header, query or body. */
export type RequestLine = {
  readonly requestId: string
  /** Made by this server. */
  readonly isOwnId: boolean
  readonly operation: string
  readonly mode: string
  readonly keyId: string
  readonly status: number
  readonly outcome: string
  readonly durationMs: number
  /** Absent unless requests are traced. */
  readonly traceId?: string | undefined
}

/**
 * Prints the lines of requests, without JSON.stringify: nothing in them needs escaping, and every request pays for its line.
 * Requests of one operation mostly have the same key and outcome, so the text between id and duration is kept for the next.
 */
export function createPrintRequest(): (line: RequestLine, time: string, loggedId: string) => string {
  const last = new Map<string, { readonly line: RequestLine; readonly text: string }>()
  const print = (line: RequestLine) => {
    const { operation, mode, keyId, status, outcome } = line
    const text =
      `","operation":"${operation}","mode":"${mode}","key_id":"${keyId}",` +
      `"status":${status},"outcome":"${outcome}","duration_ms":`
    last.set(operation, { line, text })
    return text
  }
  return (line, time, loggedId) => {
    const known = last.get(line.operation)
    const text = known && isAlike(known.line, line) ? known.text : print(line)
    const end = line.traceId === undefined ? '}\n' : `,"trace_id":"${line.traceId}"}\n`
    return `{"level":30,"time":"${time}","event":"request","request_id":"${loggedId}${text}${line.durationMs}${end}`
  }
}

const isAlike = (a: RequestLine, b: RequestLine) =>
  a.keyId === b.keyId && a.outcome === b.outcome && a.status === b.status && a.mode === b.mode

/** Where the lines of the log go. */
type LogDestination = {
  readonly write: (lines: string) => void
  /** Opens the file again under its name, after it was renamed. */
  readonly reopen: () => void
}

/** A path, or the number of an open file: 2 is standard error. */
const openLogDestination = (to: string | number): LogDestination =>
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

/** A logged failure. Failures with the same error, first frame and cause are of one kind. */
export type FailureLine = { readonly error: string; readonly at: readonly string[]; readonly cause?: object }

type Repeated<L> = { until: number; count: number; last: L }

const WINDOW_MS = 1000
/** A bound on memory. */
const MAX_KINDS = 200

/**
 * The first failure of a kind is written at once. Those of the following second are counted, and written as one line when
 * it is over.
 */
export function createRepeatedFailures<L extends FailureLine>(write: (line: L & { count: number }) => void) {
  const kinds = new Map<string, Repeated<L>>()
  const settle = (isLast: boolean) => {
    const now = performance.now()
    for (const [kind, repeated] of kinds) {
      if (!isLast && repeated.until > now) continue
      if (repeated.count > 0) write({ ...repeated.last, count: repeated.count })
      if (repeated.count === 0 || isLast) kinds.delete(kind)
      else Object.assign(repeated, { until: now + WINDOW_MS, count: 0 })
    }
  }
  return {
    add: (line: L): void => {
      const kind = JSON.stringify([line.error, line.at[0], line.cause])
      const known = kinds.get(kind)
      if (known) {
        known.count += 1
        known.last = line
        return
      }
      if (kinds.size >= MAX_KINDS) settle(true)
      kinds.set(kind, { until: performance.now() + WINDOW_MS, count: 0, last: line })
      write({ ...line, count: 1 })
    },
    /** To be called a few times a second. */
    tick: () => settle(false),
    end: () => settle(true),
  }
}

/**
 * Callers choose their own request ids, and one might be a number, a name or a key. Only ids that look drawn by chance
 * (ours, UUIDs, ULIDs) are written down: digits alone may be the number of a person.
 */
export const isDrawnByChance = (id: string): boolean => DRAWN_BY_CHANCE.test(id)

const DRAWN_BY_CHANCE =
  /^(req_(?=(?:\d*[a-f]){2})[0-9a-f]{32}|(?=(?:[^a-f]*[a-f]){2})[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?=(?:\d*[A-Z]){2})[0-7][0-9A-HJKMNP-TV-Z]{25})$/i
