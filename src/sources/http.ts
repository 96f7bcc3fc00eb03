import { Agent } from 'undici'
import { withDeadline } from './deadline.ts'
import { isPrivateAddress, lookupPublic, PrivateAddress } from './public-address.ts'
import { type Call, SourceError, type SourceFailure } from './source.ts'
import type { Trouble } from './trouble.ts'

/** What is sent to a vendor. The host is the settings' and nothing else's. */
export type Question = {
  readonly method: 'GET' | 'POST'
  /** Below the base URL, with a leading slash. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
}

/** `body` is undefined when it was not JSON; that happens only with a status that is not 2xx. */
export type Reply = { readonly status: number; readonly body: unknown }

export type Send = (question: Question, call: Pick<Call, 'signal'>) => Promise<Reply>

export type Http = { readonly send: Send; readonly close: () => Promise<void> }

export type HttpOptions = {
  readonly source: string
  readonly url: string
  /** Private addresses are allowed. Loopback always is, when the URL names it. */
  readonly allowPrivate: boolean
  /** Shorter in tests. */
  readonly attemptMs?: number
}

const CONNECT_MS = 2000
export const ATTEMPT_MS = 8000
const LARGEST_REPLY = 2 * 1024 * 1024
const CONNECTIONS = 128

/** The only way out of the house. No redirects, no compression, no large answers, no waiting. */
export function openHttp({ source, url, allowPrivate, attemptMs = ATTEMPT_MS }: HttpOptions): Http {
  const base = new URL(url)
  const trusted = allowPrivate || isPrivateAddress(base.hostname)
  const agent = new Agent({
    connections: CONNECTIONS,
    pipelining: 1,
    maxHeaderSize: 16 * 1024,
    headersTimeout: attemptMs,
    bodyTimeout: attemptMs,
    // Said here, so that NODE_TLS_REJECT_UNAUTHORIZED cannot unsay it.
    connect: { timeout: CONNECT_MS, rejectUnauthorized: true, ...(trusted ? {} : { lookup: lookupPublic }) },
  })
  const prefix = base.pathname.replace(/\/$/, '')

  const sendBefore = async (
    signal: AbortSignal,
    { method, path, query, headers, body }: Question,
  ): Promise<Reply> => {
    let answered = false
    try {
      const reply = await agent.request({
        origin: base.origin,
        path: prefix + path + (query ? `?${new URLSearchParams(query)}` : ''),
        method,
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
      })
      answered = true
      const bytes = await readBody(source, reply)
      return toReply(source, reply.statusCode, bytes)
    } catch (error) {
      throw toSourceError(source, error, answered, signal.aborted)
    }
  }
  const send: Send = (question, call) =>
    withDeadline(attemptMs, (signal) => sendBefore(signal, question), call.signal)
  return { send, close: () => agent.destroy() }
}

type RawReply = Awaited<ReturnType<Agent['request']>>

async function readBody(source: string, { headers, body }: RawReply): Promise<Buffer> {
  const give = (trouble: Trouble) => {
    body.on('error', () => {}).destroy()
    return new SourceError(source, 'bad_response', { trouble })
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') throw give('compressed')
  if (Number(headers['content-length'] ?? 0) > LARGEST_REPLY) throw give('too_large')
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of body) {
    size += piece.length
    if (size > LARGEST_REPLY) throw give('too_large')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function toReply(source: string, status: number, bytes: Buffer): Reply {
  try {
    return { status, body: JSON.parse(bytes.toString()) }
  } catch {
    if (status >= 200 && status < 300) throw new SourceError(source, 'bad_response', { trouble: 'not_json' })
    return { status, body: undefined }
  }
}

type Meaning = readonly [SourceFailure, Trouble]

/** Failures to connect: the question never left, so it may be asked again. */
const NOT_SENT: Readonly<Record<string, Meaning>> = {
  ECONNREFUSED: ['unreachable', 'no_connection'],
  EHOSTUNREACH: ['unreachable', 'no_connection'],
  ENETUNREACH: ['unreachable', 'no_connection'],
  ENOTFOUND: ['unreachable', 'no_such_host'],
  EAI_AGAIN: ['unreachable', 'no_such_host'],
  UND_ERR_CONNECT_TIMEOUT: ['unreachable', 'slow_connection'],
}

/** The error's own text is dropped: it may hold the address, and with it the number. */
function toSourceError(source: string, error: unknown, answered: boolean, aborted: boolean): SourceError {
  if (error instanceof SourceError) return error
  if (error instanceof PrivateAddress)
    return new SourceError(source, 'refused', { trouble: 'private_address', sent: false })
  const code = String((error as { code?: unknown })?.code ?? '')
  const notSent = NOT_SENT[code] ?? (isCertificateError(code) ? CERTIFICATE : undefined)
  if (notSent && !answered) return new SourceError(source, notSent[0], { trouble: notSent[1], sent: false })
  if (aborted || code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return new SourceError(source, 'timeout', { trouble: 'too_slow' })
  if (answered) return new SourceError(source, 'bad_response', { trouble: 'truncated' })
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW')
    return new SourceError(source, 'bad_response', { trouble: 'unknown_shape' })
  return new SourceError(source, 'unreachable', { trouble: 'cut_off' })
}

const CERTIFICATE: Meaning = ['unreachable', 'bad_certificate']
const isCertificateError = (code: string) =>
  /CERT|^ERR_TLS|^UNABLE_TO|SELF_SIGNED|^ERR_SSL|^EPROTO/.test(code)
