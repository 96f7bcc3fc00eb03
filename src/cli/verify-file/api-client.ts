import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { UserError } from '../../errors.ts'
import { isLoopback } from '../../settings/setting.ts'

export type ApiRequest = {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: AsyncIterable<string>
  readonly signal: AbortSignal
}

/** Sends requests to the API of a server, with the key. */
export type ApiClient = {
  /** To be shown. */
  readonly server: string
  readonly send: (request: ApiRequest) => Promise<IncomingMessage>
}

/** How to reach the server: an address, or a connection in memory. */
type Connect = (options: http.RequestOptions) => http.ClientRequest

const STALLED_MS = 60_000

export function createApiClient(server: string, connect: Connect, key: string): ApiClient {
  return {
    server,
    send: async ({ method, path, headers, body, signal }) => {
      const sent = connect({ method, path, headers: { authorization: `Bearer ${key}`, ...headers }, signal })
      sent.on('timeout', () => sent.destroy(new Error('the server does not answer')))
      const answered = once(sent, 'response') as Promise<[IncomingMessage]>
      // A server that refuses a body answers before all of it is sent. Without an answer, the request itself fails.
      if (body) pipeline(Readable.from(body), sent).catch(() => {})
      else sent.end()
      const [response] = await answered
      return response
    },
  }
}

/** A server by its address. */
export function toConnect(url: string, plainHttp: true | undefined): Connect {
  const base = URL.canParse(url) ? new URL(url) : undefined
  if (!base || !['http:', 'https:'].includes(base.protocol) || base.search !== '')
    throw new UserError('--url must be the address of a server, for example https://tabbat.example.com.')
  if (base.username !== '') throw new UserError('--url must not hold a user name or a password.')
  const host = base.hostname.replace(/^\[|\]$/g, '')
  if (base.protocol === 'http:' && !isLoopback(host) && !plainHttp)
    throw new UserError(
      'Over http:// others on the network can read the key and the data. Use https://, or confirm with --plain-http.',
    )
  const open = base.protocol === 'https:' ? https.request : http.request
  const prefix = base.pathname.replace(/\/$/, '')
  return (options) =>
    open({
      ...options,
      timeout: STALLED_MS,
      hostname: host,
      port: base.port,
      path: `${prefix}${options.path}`,
    })
}

export type ApiAnswer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

/** The whole answer. */
export async function readAnswer(response: IncomingMessage): Promise<ApiAnswer> {
  const body = await text(response)
  return { status: response.statusCode ?? 0, headers: response.headers, body: toJson(body) }
}

function toJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** What a refusal means for the operator. The text of the server is shown: it holds no values. */
export function toApiError({ status, body }: ApiAnswer, server: string): UserError {
  if (status === 401) return new UserError(`${server} does not accept this key.`)
  const message = (body as { message?: unknown } | undefined)?.message
  return new UserError(
    `${server} answered ${status}${typeof message === 'string' ? `: ${message}` : '. Is this the address of Tabbat?'}`,
  )
}
