import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { AppError, toErrorBody } from '../../src/errors.ts'

type Fault = '503' | 'no answer'

/** A verification that arrived at the proxy. */
type Attempt = { readonly idempotencyKey: string | undefined; readonly body: string }

type UnreliableProxy = {
  readonly url: string
  readonly attempts: readonly Attempt[]
  readonly close: () => Promise<void>
}

/** A proxy in front of the server that fails verifications as `toFault` says, by the number of the attempt from 0. */
export async function startUnreliableProxy(
  target: string,
  toFault: (attempt: number) => Fault | undefined,
): Promise<UnreliableProxy> {
  const attempts: Attempt[] = []
  const server = http.createServer(async (request, response) => {
    const body = await buffer(request)
    if (request.url?.endsWith('/verify-nin')) {
      const fault = toFault(attempts.length)
      attempts.push({ idempotencyKey: header(request, 'idempotency-key'), body: body.toString() })
      if (fault === '503') return answer503(response)
      if (fault === 'no answer') return request.socket.destroy()
    }
    await forward(`${target}${request.url}`, request, body, response)
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

/** The connection is closed, so that no client library repeats the next attempt by itself. */
function answer503(response: http.ServerResponse): void {
  const headers = { 'content-type': 'application/json', 'retry-after': '0', connection: 'close' }
  response
    .writeHead(503, headers)
    .end(JSON.stringify(toErrorBody(new AppError('source_unavailable'), 'req_of_the_proxy')))
}

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
