import { isUtf8 } from 'node:buffer'
import { withDeadline } from './deadline.ts'
import { openClient, type RawReply } from './http-client.ts'
import { type Progress, toSourceError } from './http-failure.ts'
import { isPrivateAddress, PrivateAddress } from './public-address.ts'
import { readRetryAfterMs } from './retry-after.ts'
import { type Call, type HttpReply, type HttpRequest, type Send, SourceError } from './source.ts'
import type { SourceProblem } from './source-problem.ts'

export type Http = { readonly send: Send; readonly close: () => Promise<void> }

type HttpOptions = {
  readonly source: string
  readonly url: string
  /** Private addresses are allowed. Loopback always is, when the URL names it. */
  readonly allowPrivate: boolean
  /** Whether calls carry the header `traceparent`, if requests are traced. */
  readonly sendsTraceparent?: boolean
  /** Shorter in tests. */
  readonly attemptMs?: number
}

export const ATTEMPT_MS = 8000
const LARGEST_REPLY = 2 * 1024 * 1024

/** The only outbound HTTP client. No redirects, no compression, a size limit, a time limit. */
export function openHttp(options: HttpOptions): Http {
  const { source, url, allowPrivate, sendsTraceparent = false, attemptMs = ATTEMPT_MS } = options
  const base = new URL(url)
  const trusted = allowPrivate || isPrivateAddress(base.hostname)
  const { request, load, close } = openClient(trusted)
  // No call of a vendor waits for it.
  void load()
  const prefix = base.pathname.replace(/\/$/, '')

  const sendBefore = async (
    signal: AbortSignal,
    { method, path, query, headers, body }: HttpRequest,
    { onRetryAfter, traceparent }: Pick<Call, 'onRetryAfter' | 'traceparent'>,
  ): Promise<HttpReply> => {
    const progress: Progress = { sent: false, answered: false }
    try {
      const reply = await request({
        origin: base.origin,
        path: prefix + path + (query ? `?${new URLSearchParams(query)}` : ''),
        method,
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(sendsTraceparent && traceparent !== undefined ? { traceparent } : {}),
          ...headers,
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
        opaque: progress,
      })
      progress.answered = true
      const retryAfterMs = readRetryAfterMs(reply)
      if (retryAfterMs !== undefined) onRetryAfter?.(retryAfterMs)
      const bytes = await readBody(source, reply)
      return toReply(source, reply, bytes)
    } catch (error) {
      throw toSourceError(source, error, progress, signal.aborted)
    }
  }
  const send: Send = (request, call) =>
    withDeadline(attemptMs, (signal) => sendBefore(signal, request, call), call.signal)
  return { send, close }
}

type PostRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal?: AbortSignal | undefined
}
type PostReply = { readonly status: number; readonly retryAfterMs: number | undefined }

/** Sends JSON to an address that is not in the settings. Throws a SourceError when there is no reply. */
export type Post = (request: PostRequest) => Promise<PostReply>

type PostOptions = {
  /** Private, loopback and link-local addresses are allowed. */
  readonly allowPrivate: boolean
  /** For the whole exchange. */
  readonly timeoutMs: number
  /** At most this much of a reply is read; more closes the connection. */
  readonly largestReply: number
  readonly longestRetryAfterMs: number
}

/** The client of webhooks: the body of a reply is read and dropped. */
export function openPost(options: PostOptions): { readonly post: Post; readonly close: () => Promise<void> } {
  const { allowPrivate, timeoutMs, largestReply, longestRetryAfterMs } = options
  const { request, close } = openClient(allowPrivate)
  const postBefore = async (signal: AbortSignal, { url, headers, body }: PostRequest): Promise<PostReply> => {
    const progress: Progress = { sent: false, answered: false }
    try {
      const { origin, hostname, pathname, search } = new URL(url)
      // An address in the URL is not looked up, so it is checked here.
      if (!allowPrivate && isPrivateAddress(hostname)) throw new PrivateAddress()
      const path = pathname + search
      const reply = await request({
        origin,
        path,
        method: 'POST',
        headers,
        body,
        signal,
        opaque: progress,
      })
      await drop(reply.body, largestReply)
      return { status: reply.statusCode, retryAfterMs: readRetryAfterMs(reply, longestRetryAfterMs) }
    } catch (error) {
      throw toSourceError('webhook', error, progress, signal.aborted)
    }
  }
  const post: Post = (request) =>
    withDeadline(timeoutMs, (signal) => postBefore(signal, request), request.signal)
  return { post, close }
}

/** The status decides, so a body that breaks off is no failure; one that does not end by the deadline is closed. */
async function drop(body: RawReply['body'], most: number): Promise<void> {
  let size = 0
  try {
    for await (const piece of body) {
      size += piece.length
      if (size > most) break
    }
  } catch {}
}

async function readBody(source: string, { headers, body }: RawReply): Promise<Buffer> {
  const discard = (problem: SourceProblem) => {
    body.on('error', () => {}).destroy()
    return new SourceError(source, 'bad_response', { problem })
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') throw discard('compressed')
  if (Number(headers['content-length'] ?? 0) > LARGEST_REPLY) throw discard('too_large')
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of body) {
    size += piece.length
    if (size > LARGEST_REPLY) throw discard('too_large')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function toReply(source: string, { statusCode: status, headers }: RawReply, bytes: Buffer): HttpReply {
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
