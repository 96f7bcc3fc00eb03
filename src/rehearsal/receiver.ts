import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { nodeHttp } from '../http/node-http.ts'

/** A webhook that arrived. Its body never has personal data. */
export type Received = {
  readonly id: string
  readonly timestamp: string
  readonly signature: string
  readonly body: string
}

/** Receives all webhooks of the servers on the copy, in place of the real receivers. */
export type Receiver = {
  /** Of the endpoint that the rehearsal creates. */
  readonly url: string
  /** Where the endpoints in the copied data lead now. */
  readonly copiedUrl: string
  /** What arrived at `url` and was answered with 200, in order. */
  readonly received: readonly Received[]
  /** Attempts at `url` that found it down. */
  readonly refused: () => number
  /** Down: every connection is closed without an answer. */
  readonly setDown: (isDown: boolean) => void
  readonly close: () => Promise<void>
}

export async function openReceiver(): Promise<Receiver> {
  const received: Received[] = []
  let refused = 0
  let isDown = false
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const isOwn = request.url === OWN_PATH
    if (isOwn && isDown) {
      refused += 1
      request.socket.destroy()
      return
    }
    const body = await text(request)
    const header = (name: string) => String(request.headers[`webhook-${name}`])
    if (isOwn)
      received.push({
        id: header('id'),
        timestamp: header('timestamp'),
        signature: header('signature'),
        body,
      })
    response.writeHead(200).end()
  }
  const server = nodeHttp.createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: origin + OWN_PATH,
    copiedUrl: `${origin}/copied`,
    received,
    refused: () => refused,
    setDown: (wanted) => {
      isDown = wanted
      if (isDown) server.closeAllConnections()
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const OWN_PATH = '/rehearsal'

/** Whether the secret signed it, by the rules of Standard Webhooks. */
export function isSigned({ id, timestamp, signature, body }: Received, secret: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest()
  return signature.split(' ').some((each) => {
    const given = Buffer.from(each.replace(/^v1,/, ''), 'base64')
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}
