import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { AppError, toErrorBody } from '../../src/errors.ts'

type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}
type Fault = Answer | 'no answer'

export const toUnavailable = (retryAfter: string): Answer => ({
  status: 503,
  headers: { 'content-type': 'application/json', 'retry-after': retryAfter },
  body: JSON.stringify(toErrorBody(new AppError('source_unavailable'), 'req_of_the_proxy')),
})

/** Of a network that wants a sign-in first, or of a proxy during maintenance. */
export const HTML_WITH_200: Answer = {
  status: 200,
  headers: { 'content-type': 'text/html' },
  body: '<!doctype html><title>Sign in to this network</title>',
}

export const toSuccess = (data: unknown): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ success: true, message: 'Completed', data }),
})

export const toRedirect = (origin: string): Answer => ({
  status: 307,
  headers: { location: `${origin}/api/v2/kyc/verify-nin` },
  body: '',
})

/** A verification that arrived at the proxy. */
type Attempt = { readonly idempotencyKey: string | undefined; readonly body: string }

type UnreliableProxy = {
  readonly url: string
  readonly attempts: readonly Attempt[]
  readonly close: () => Promise<void>
}

/** What is answered instead of the server's answer: to verifications by the number of the attempt from 0, and to lists of bundles. */
type Faults = {
  readonly toVerification?: (attempt: number) => Fault | undefined
  readonly toBundles?: Fault
}

/** A proxy in front of the server. */
export async function startUnreliableProxy(
  target: string,
  { toVerification = () => undefined, toBundles }: Faults,
): Promise<UnreliableProxy> {
  const attempts: Attempt[] = []
  const server = http.createServer(async (request, response) => {
    const body = await buffer(request)
    const isVerification = request.url?.endsWith('/verify-nin')
    const fault = isVerification ? toVerification(attempts.length) : toBundles
    if (isVerification)
      attempts.push({ idempotencyKey: header(request, 'idempotency-key'), body: body.toString() })
    if (fault === 'no answer') request.socket.destroy()
    // The connection is closed, so that no client library repeats the next attempt by itself.
    else if (fault)
      response.writeHead(fault.status, { ...fault.headers, connection: 'close' }).end(fault.body)
    else await forward(`${target}${request.url}`, request, body, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    attempts,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const header = ({ headers }: http.IncomingMessage, name: string) => headers[name]?.toString()

async function forward(
  url: string,
  { method, headers }: http.IncomingMessage,
  body: Buffer,
  response: http.ServerResponse,
): Promise<void> {
  const outgoing = http.request(url, { method, headers }).end(body)
  const [answer] = (await once(outgoing, 'response')) as [http.IncomingMessage]
  response.writeHead(answer.statusCode ?? 0, answer.headers).end(await buffer(answer))
}
