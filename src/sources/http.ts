import { isUtf8 } from 'node:buffer'
import type { Dispatcher } from 'undici'
import { isLoopback } from '../settings/setting.ts'
import { withDeadline } from './deadline.ts'
import type { Progress } from './http-agent.ts'
import { isPrivateAddress, PrivateAddress } from './public-address.ts'
import { readRetryAfterMs } from './retry-after.ts'
import {
  type Call,
  type HttpReply,
  type HttpRequest,
  type Send,
  SourceError,
  type SourceFailure,
} from './source.ts'
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
const MAX_REPLY_BYTES = 2 * 1024 * 1024

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
      throw sourceError(source, error, progress, signal.aborted)
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
  readonly maxReplyBytes: number
  readonly maxRetryAfterMs: number
}

/** The client of webhooks: the body of a reply is read and dropped. */
export function openPost(options: PostOptions): { readonly post: Post; readonly close: () => Promise<void> } {
  const { allowPrivate, timeoutMs, maxReplyBytes, maxRetryAfterMs } = options
  const { request, close } = openClient(allowPrivate)
  const postBefore = async (signal: AbortSignal, { url, headers, body }: PostRequest): Promise<PostReply> => {
    const progress: Progress = { sent: false, answered: false }
    try {
      const { origin, hostname, pathname, search } = new URL(url)
      // An address in the URL is not looked up, so it is checked here.
      if (!allowPrivate && isPrivateAddress(hostname)) throw new PrivateAddress()
      const reply = await request({
        origin,
        path: pathname + search,
        method: 'POST',
        headers,
        body,
        signal,
        opaque: progress,
      })
      await drop(reply.body, maxReplyBytes)
      return { status: reply.statusCode, retryAfterMs: readRetryAfterMs(reply, maxRetryAfterMs) }
    } catch (error) {
      throw sourceError('webhook', error, progress, signal.aborted)
    }
  }
  const post: Post = (request) =>
    withDeadline(timeoutMs, (signal) => postBefore(signal, request), request.signal)
  return { post, close }
}

type FetchInit = {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly signal?: AbortSignal | undefined
}

/** Like `fetch` of browsers, for a library. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>

const FETCH_MS = 8000
const MAX_FETCHED_BYTES = 1024 * 1024

/**
 * For a library that makes requests itself: no redirects, no compression, limits of size and time; https, but for this machine.
 * `trusted`: private addresses are allowed.
 */
export function openFetch(trusted: boolean): { readonly send: Fetch; readonly close: () => Promise<void> } {
  const { request, close } = openClient(trusted)
  const sendBefore = async (signal: AbortSignal, url: string, { method, headers, body }: FetchInit) => {
    const { origin, pathname, search } = readAllowedUrl(url, trusted)
    const reply = await request({
      origin,
      path: pathname + search,
      method: method as 'GET' | 'POST',
      headers: { ...headers, 'accept-encoding': 'identity' },
      body: body instanceof URLSearchParams ? body.toString() : ((body ?? null) as string | null),
      signal,
      opaque: {},
    })
    const bytes = await readAll(reply.body, MAX_FETCHED_BYTES, () => new Error('the reply is too large'))
    const hasBody = ![204, 205, 304].includes(reply.statusCode)
    return new Response(hasBody ? bytes : null, {
      status: reply.statusCode,
      headers: toHeaders(reply.headers),
    })
  }
  const send: Fetch = (url, init) =>
    withDeadline(FETCH_MS, (signal) => sendBefore(signal, url, init), init.signal)
  return { send, close }
}

function readAllowedUrl(url: string, trusted: boolean): URL {
  const parsed = new URL(url)
  if (parsed.protocol !== 'https:' && !isLoopback(parsed.hostname)) throw new Error('only https is allowed')
  // An address in the URL is not looked up, so it is checked here.
  if (!trusted && isPrivateAddress(parsed.hostname)) throw new PrivateAddress()
  return parsed
}

const toHeaders = (given: Readonly<Record<string, string | string[] | undefined>>): [string, string][] =>
  Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((text): [string, string] => [name, text]),
  )

/** The status decides, so a body that breaks off is no failure; one that does not end by the deadline is closed. */
async function drop(body: RawReply['body'], maxBytes: number): Promise<void> {
  let size = 0
  try {
    for await (const piece of body) {
      size += piece.length
      if (size > maxBytes) break
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
  if (Number(headers['content-length'] ?? 0) > MAX_REPLY_BYTES) throw discard('too_large')
  return readAll(body, MAX_REPLY_BYTES, () => discard('too_large'))
}

/** `tooLarge` is thrown for a longer body. */
async function readAll(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer<ArrayBuffer>> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of body) {
    size += piece.length
    if (size > maxBytes) throw tooLarge()
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

type Request = Parameters<Dispatcher['request']>[0]
type RawReply = Awaited<ReturnType<Dispatcher['request']>>

type Client = {
  readonly request: (request: Request) => Promise<RawReply>
  /** Loads the code before the first request needs it. */
  readonly load: () => Promise<unknown>
  readonly close: () => Promise<void>
}

/**
 * A client that connects under the rules of this program. `trusted`: also to private addresses. Its code takes 16 MB, so a server
 * without vendors and webhooks does not load it.
 */
function openClient(trusted: boolean): Client {
  let loading: ReturnType<typeof openLater> | undefined
  const openLater = async () => (await import('./http-agent.ts')).openAgent(trusted)
  const load = () => {
    loading ??= openLater()
    return loading
  }
  return {
    request: async (request) => (await load()).dispatcher.request(request),
    load,
    close: async () => (await loading)?.close(),
  }
}

/** Drops the error's own message: it may contain the URL, and with it the number. */
function sourceError(
  source: string,
  error: unknown,
  { sent, answered }: Progress,
  aborted: boolean,
): SourceError {
  if (error instanceof SourceError) return error
  if (error instanceof PrivateAddress)
    return new SourceError(source, 'refused', { problem: 'private_address', sent: false })
  const code = String((error as { code?: unknown })?.code ?? '')
  if (aborted || code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return new SourceError(source, 'timeout', { problem: 'too_slow', sent })
  if (!sent) return new SourceError(source, 'unreachable', { problem: toConnectProblem(code), sent })
  const [reason, problem] = toSentMeaning(code, answered)
  return new SourceError(source, reason, { problem, fault: 'source' })
}

function toSentMeaning(code: string, answered: boolean): readonly [SourceFailure, SourceProblem] {
  if (answered) return ['bad_response', 'truncated']
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') return ['bad_response', 'unknown_shape']
  return ['unreachable', 'cut_off']
}

const CONNECT_PROBLEMS: Readonly<Record<string, SourceProblem>> = {
  ENOTFOUND: 'no_such_host',
  EAI_AGAIN: 'no_such_host',
  SLOW_CONNECTION: 'slow_connection',
  UND_ERR_CONNECT_TIMEOUT: 'slow_connection',
  ETIMEDOUT: 'slow_connection',
  // The connection was closed during the TLS handshake.
  ECONNRESET: 'no_tls',
  EPROTO: 'no_tls',
}

/** Why no connection was made. */
function toConnectProblem(code: string): SourceProblem {
  const known = CONNECT_PROBLEMS[code]
  if (known) return known
  if (/CERT|^ERR_TLS|^UNABLE_TO|SELF_SIGNED/.test(code)) return 'bad_certificate'
  return code.startsWith('ERR_SSL') ? 'no_tls' : 'no_connection'
}
