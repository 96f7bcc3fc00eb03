import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TestCertificate } from '../certificate.ts'

/** A node that is ready, and ends the connection of every other request, or answers it with 200. */
export type FakeNode = {
  readonly address: string
  readonly requests: {
    readonly method: string
    readonly headers: NodeJS.Dict<string | string[]>
    /** Of the body that have arrived. */
    readonly bytes: number
  }[]
  readonly close: () => void
}

/** With a certificate it speaks TLS. */
export async function startFakeNode(
  isDying: () => boolean,
  certificate?: TestCertificate,
): Promise<FakeNode> {
  const requests: FakeNode['requests'] = []
  const answer: RequestListener = (request, response) => {
    if (request.url?.startsWith('/health/')) return void response.end('{}')
    const received = { method: request.method ?? '', headers: request.headers, bytes: 0 }
    requests.push(received)
    request.on('data', (piece: Buffer) => {
      received.bytes += piece.length
    })
    // The whole request has arrived, as it would have at a node that processed it and died.
    request.on('end', () => {
      if (isDying()) request.socket.destroy()
      else response.end('{}')
    })
  }
  const server = certificate ? createTlsServer(certificate, answer) : createServer(answer)
  // As that of a node, it is longer than a proxy keeps an idle connection: one that is closed while it is used ends a request.
  server.keepAliveTimeout = 65_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
