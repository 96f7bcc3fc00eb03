import { pino } from 'pino'
import { createRepeatedFailures } from './repeated-failures.ts'

/** One line a request. Only what stands here can reach the log: no address, header, query or body. */
export type RequestLine = {
  readonly requestId: string
  readonly operation: string
  readonly mode: string
  readonly keyId: string
  readonly status: number
  readonly outcome: string
  readonly durationMs: number
}

export type Log = {
  readonly request: (line: RequestLine) => void
  /** Events of the server itself: fixed words and figures, nothing from a request. */
  readonly event: (
    level: 'info' | 'warn' | 'error',
    event: string,
    figures?: Record<string, string | number>,
  ) => void
  /** A failure of ours: its kind, where it happened, and how often within a second. Its message stays out, because messages quote their input. */
  readonly failure: (error: unknown, requestId?: string) => void
  readonly flush: () => void
}

export function createLog(level: string, fd = 2): Log {
  const destination = pino.destination({ dest: fd, minLength: 4096, sync: true })
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination)
  const hasLines = logger.isLevelEnabled('info')
  const toNow = createClock()
  // Lines are gathered for a moment, so that a busy server pays for writing once in many requests.
  let lines = ''
  const handOver = () => {
    if (lines !== '') destination.write(lines)
    lines = ''
  }
  const failures = createRepeatedFailures<{ request_id: string } & ReturnType<typeof describeFailure>>(
    (line) => logger.error({ event: 'failure', ...line }),
  )
  const timer = setInterval(() => {
    handOver()
    failures.tick()
    destination.flush()
  }, 200).unref()
  return {
    // Written by hand: nothing in it needs escaping, and it is the one line that every request pays for.
    request: (line) => {
      if (!hasLines) return
      lines +=
        `{"level":30,"time":"${toNow()}","event":"request","request_id":"${toLoggedId(line.requestId)}",` +
        `"operation":"${line.operation}","mode":"${line.mode}","key_id":"${line.keyId}",` +
        `"status":${line.status},"outcome":"${line.outcome}","duration_ms":${line.durationMs}}\n`
      if (lines.length > MOST_GATHERED) handOver()
    },
    event: (at, event, figures = {}) => {
      handOver()
      logger[at]({ event, ...figures })
    },
    failure: (error, requestId = '') => {
      handOver()
      failures.add({ request_id: toLoggedId(requestId), ...describeFailure(error) })
    },
    flush: () => {
      clearInterval(timer)
      handOver()
      failures.end()
      destination.flushSync()
    },
  }
}

const MOST_GATHERED = 12_000

/**
 * Callers choose their own request ids, and one might be a number, a name or a key. Only ids that look drawn by chance
 * (ours, UUIDs, ULIDs) are written down.
 */
export const toLoggedId = (id: string) => (DRAWN_BY_CHANCE.test(id) ? id : "[the caller's own]")

const DRAWN_BY_CHANCE =
  /^(req_[0-9a-f]{32}|(?=(?:[^a-f]*[a-f]){2})[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-7][0-9A-HJKMNP-TV-Z]{25})$/i

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

/** The time as text; many requests share a millisecond. */
function createClock(): () => string {
  let last = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== last) {
      last = now
      text = new Date(now).toISOString()
    }
    return text
  }
}
