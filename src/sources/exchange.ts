import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { afterRunning } from '../telemetry/running-clock.ts'
import { type Progress, readRetryAfterMs } from './reply.ts'
import { type Call, type HttpReply, SourceError } from './source.ts'
import type { SourceProblem } from './source-problem.ts'

const MAX_REPLY_BYTES = 2 * 1024 * 1024

type Dispatch = (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => Promise<void>

type ExchangeOptions = {
  readonly source: string
  /** Filled while it goes on. */
  readonly progress: Progress
  readonly signal: AbortSignal
  readonly limitMs: number
  readonly onRetryAfter: Call['onRetryAfter'] | undefined
}

/**
 * One request and its reply, read into memory: undici's own `request` makes a stream of it, which costs more than the rest. Time during
 * which our process stood still does not count, and what has arrived by then is read first.
 */
export async function exchange(
  dispatch: Dispatch,
  options: Dispatcher.DispatchOptions,
  { source, progress, signal, limitMs, onRetryAfter }: ExchangeOptions,
): Promise<HttpReply> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpReply>()
  // It may fail while the client is being loaded, before it is awaited.
  promise.catch(() => {})
  let controller: Dispatcher.DispatchController | undefined
  let failure: Error | undefined
  const stop = (error: Error) => {
    failure ??= error
    reject(failure)
    controller?.abort(failure)
  }
  const end = () => stop(new TimedOut())
  let lastTurn: NodeJS.Immediate | undefined
  const cancel = afterRunning(limitMs, () => {
    // Immediates run after sockets were read.
    lastTurn = setImmediate(end)
  })
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  const reading = createReading(source)
  try {
    await dispatch(options, {
      onRequestStart: (given) => {
        controller = given
        // It waited for a connection for too long, and is not sent.
        if (failure) return given.abort(failure)
        progress.sent = true
      },
      onResponseStart: (_controller, status, headers) => {
        progress.answered = true
        const retryAfterMs = readRetryAfterMs({ statusCode: status, headers })
        if (retryAfterMs !== undefined) onRetryAfter?.(retryAfterMs)
        const problem = reading.start(status, headers)
        if (problem) stop(problem)
      },
      onResponseData: (_controller, piece) => {
        const problem = reading.add(piece)
        if (problem) stop(problem)
      },
      onResponseEnd: () => {
        try {
          resolve(reading.finish())
        } catch (error) {
          reject(error)
        }
      },
      onResponseError: (_controller, error) => reject(failure ?? error),
    })
    return await promise
  } finally {
    cancel()
    clearImmediate(lastTurn)
    signal.removeEventListener('abort', end)
  }
}

/** The time of the request is over. */
export class TimedOut extends Error {}

/** A reply that arrives in pieces. `start` and `add` return why it cannot be used. */
function createReading(source: string) {
  const pieces: Buffer[] = []
  let size = 0
  let head: { readonly status: number; readonly headers: IncomingHttpHeaders } = { status: 0, headers: {} }
  const refuse = (problem: SourceProblem) => new SourceError(source, 'bad_response', { problem })
  return {
    start: (status: number, headers: IncomingHttpHeaders): SourceError | undefined => {
      head = { status, headers }
      const encoding = headers['content-encoding']
      if (encoding !== undefined && encoding !== 'identity') return refuse('compressed')
      return Number(headers['content-length'] ?? 0) > MAX_REPLY_BYTES ? refuse('too_large') : undefined
    },
    add: (piece: Buffer): SourceError | undefined => {
      size += piece.length
      if (size > MAX_REPLY_BYTES) return refuse('too_large')
      pieces.push(piece)
      return undefined
    },
    finish: (): HttpReply =>
      toReply(source, head, pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)),
  }
}

function toReply(
  source: string,
  { status, headers }: { readonly status: number; readonly headers: IncomingHttpHeaders },
  bytes: Buffer,
): HttpReply {
  try {
    return { status, body: JSON.parse(decode(bytes, headers['content-type'])) }
  } catch {
    if (status >= 200 && status < 300) throw new SourceError(source, 'bad_response', { problem: 'not_json' })
    return { status, body: undefined }
  }
}

/**
 * JSON is UTF-8, with or without a byte order mark. Another character set counts only if the bytes are not UTF-8: servers declare
 * ISO-8859-1 without using it. Bytes that cannot be read become U+FFFD: see `toText`.
 */
function decode(bytes: Buffer, contentType: string | string[] | undefined): string {
  const declared = isUtf8(bytes) ? undefined : /charset="?([\w.:-]+)/i.exec(String(contentType))?.[1]
  try {
    return new TextDecoder(declared).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}
