import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Received = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Receiver = {
  readonly url: string
  readonly received: Received[]
  /** Replaceable: the response to each request. */
  answer: (request: Received, response: ServerResponse) => void
  /** Resolves when so many requests have arrived. */
  readonly wait: (count: number) => Promise<void>
  readonly close: () => Promise<void>
}

export const answerWith =
  (status: number, headers: Record<string, string> = {}) =>
  (_request: Received, response: ServerResponse) =>
    void response.writeHead(status, headers).end('ok')

/** A receiver of webhooks on a real socket. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  let waiting: { count: number; resolve: () => void }[] = []
  const server: Server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const entry = {
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(pieces).toString(),
    }
    received.push(entry)
    for (const { resolve } of waiting.filter(({ count }) => received.length >= count)) resolve()
    waiting = waiting.filter(({ count }) => received.length < count)
    receiver.answer(entry, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks?shop=1`,
    received,
    answer: answerWith(200),
    wait: (count) => {
      if (received.length >= count) return Promise.resolve()
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.push({ count, resolve })
      return promise
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}
