import type { Socket } from 'node:net'
import type { buildConnector, Dispatcher } from 'undici'
import { isLoopback } from '../settings/setting.ts'
import { afterRunning, withDeadline } from '../telemetry/running-clock.ts'
import { exchange, TimedOut } from './exchange.ts'
import { createLookup, isPrivateAddress, PrivateAddress } from './public-address.ts'
import { exchangeError, type Progress, readRetryAfterMs } from './reply.ts'
import { type Send, SourceError } from './source.ts'

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

/** The only outbound HTTP client. No redirects, no compression, a size limit, a time limit. */
export function openHttp(options: HttpOptions): Http {
  const { source, url, allowPrivate, sendsTraceparent = false, attemptMs = ATTEMPT_MS } = options
  const base = new URL(url)
  const trusted = allowPrivate || isPrivateAddress(base.hostname)
  // The calls under way are limited before: see guard/connections.ts. A second limit would make calls wait that are being timed.
  const { dispatch, load, close } = openClient(trusted, null)
  // No call of a vendor waits for it.
  void load()
  const prefix = base.pathname.replace(/\/$/, '')

  const send: Send = async ({ method, path, query, headers, body }, call) => {
    const { signal, onRetryAfter, traceparent } = call
    const progress: Progress = { sent: false, answered: false }
    try {
      const options: Dispatcher.DispatchOptions = {
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
      }
      return await exchange(dispatch, options, { source, progress, signal, limitMs: attemptMs, onRetryAfter })
    } catch (error) {
      throw exchangeError(source, error, progress, error instanceof TimedOut)
    }
  }
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
  /** Private, loopback and link-local addresses are allowed, and plain http. */
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
      const { origin, protocol, hostname, pathname, search } = new URL(url)
      // An address in the URL is not looked up, so it is checked here.
      if (!allowPrivate && isPrivateAddress(hostname)) throw new PrivateAddress()
      if (!allowPrivate && protocol !== 'https:')
        throw new SourceError('webhook', 'refused', { problem: 'plain_http', sent: false })
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
      throw exchangeError('webhook', error, progress, signal.aborted)
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

type Request = Parameters<Dispatcher['request']>[0]
type RawReply = Awaited<ReturnType<Dispatcher['request']>>

type Client = {
  readonly request: (request: Request) => Promise<RawReply>
  readonly dispatch: (
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ) => Promise<void>
  /** Loads the code before the first request needs it. */
  readonly load: () => Promise<unknown>
  readonly close: () => Promise<void>
}

/**
 * A client that connects under the rules of this program. `trusted`: also to private addresses. `connections`: null for no limit. Its
 * code takes 16 MB, so a server without vendors and webhooks does not load it.
 */
function openClient(trusted: boolean, connections: number | null = CONNECTIONS): Client {
  let loading: ReturnType<typeof openAgent> | undefined
  const load = () => {
    loading ??= openAgent(trusted, connections)
    return loading
  }
  return {
    request: async (request) => (await load()).dispatcher.request(request),
    dispatch: async (options, handler) => {
      const { agent } = await load()
      agent.dispatch(options, handler)
    },
    load,
    close: async () => (await loading)?.close(),
  }
}

/** No connection was made in time. */
class SlowConnection extends Error {
  readonly code = 'SLOW_CONNECTION'
}

const CONNECT_MS = 2000
const CONNECTIONS = 128

/** Every request has a deadline of its own. */
async function openAgent(trusted: boolean, connections: number | null) {
  const { Agent, buildConnector } = await import('undici')
  const agent = new Agent({
    connections,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEAD_BYTES,
    // undici's own: the deadline of the request does not count time during which our process stood still.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: createConnect(trusted, buildConnector),
  })
  return { agent, dispatcher: agent.compose(recordSending), close: () => agent.destroy() }
}

/** undici calls onRequestStart when it has a connection and starts to write the request. */
const recordSending: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const progress = (options as { opaque?: Progress }).opaque
  const start = handler.onRequestStart?.bind(handler)
  handler.onRequestStart = (...given) => {
    if (progress) progress.sent = true
    start?.(...given)
  }
  return dispatch(options, handler)
}

/** Connects within two seconds, DNS and TLS included. undici's own timeout may be a second late. */
function createConnect(trusted: boolean, build: typeof buildConnector): buildConnector.connector {
  const connect = build({
    timeout: 0,
    // With HTTP/2, undici lets all calls wait for the first connection to a host, also while its handshake hangs.
    allowH2: false,
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
    rejectUnauthorized: true,
    lookup: createLookup(trusted),
  })
  return (options, done) => {
    // The connector returns the socket; its type does not declare that.
    const socket = connect(options, (...result) => {
      cancel()
      if (result[1]) dropInformational(result[1])
      done(...result)
    }) as unknown as Socket
    const cancel = afterRunning(CONNECT_MS, () => socket.destroy(new SlowConnection()))
  }
}

const INFORMATIONAL = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/
const START_LENGTH = 'HTTP/1.1 100 '.length
const MAX_HEAD_BYTES = 16 * 1024
const END = Buffer.from('\r\n\r\n')

/**
 * Drops every informational answer (100 Continue, 102, 103) that a server sends before its answer. RFC 9110 allows them without being
 * asked; at a 100 undici closes the connection, and a look-up that is paid for is lost.
 */
function dropInformational(socket: Socket): void {
  const read = socket.read.bind(socket)
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean
  /** The beginning of the answer, while it may still be one of them; undefined behind it. */
  let held: Buffer | undefined
  socket.write = (...given: unknown[]) => {
    // One request at a time: what is read next is the beginning of its answer.
    held = Buffer.alloc(0)
    return write(...given)
  }
  socket.read = (size?: number) => {
    const piece: Buffer | null = read(size)
    if (held === undefined || piece === null) return piece
    const rest = skipInformational(Buffer.concat([held, piece]))
    held = mayBeInformational(rest) ? rest : undefined
    return held === undefined ? rest : null
  }
}

/** What follows the complete ones. */
function skipInformational(bytes: Buffer): Buffer {
  let rest = bytes
  while (INFORMATIONAL.test(rest.toString('latin1', 0, START_LENGTH))) {
    const end = rest.indexOf(END)
    if (end === -1) break
    rest = rest.subarray(end + END.length)
  }
  return rest
}

/** Whether more must be read to know it, or to find its end. */
function mayBeInformational(bytes: Buffer): boolean {
  const start = bytes.toString('latin1', 0, START_LENGTH)
  if (start.length < START_LENGTH) return INFORMATIONAL.test(start + 'HTTP/1.1 100 '.slice(start.length))
  return INFORMATIONAL.test(start) && bytes.length < MAX_HEAD_BYTES
}
