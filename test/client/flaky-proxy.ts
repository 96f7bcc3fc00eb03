import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** What happens to one request: a response of the proxy itself, or a fault of the network. */
export type Fault =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body: string }
  /** The connection breaks before the server has the request. */
  | 'reset'
  /** The server answers, and the response is lost. */
  | 'lose'
  /** Half of the response arrives. */
  | 'truncate'
  /** No response. */
  | 'hang'

export type FlakyProxy = {
  readonly url: string
  /** The headers of all requests so far. */
  readonly requests: IncomingMessage['headers'][]
  /** Faults of the next requests; then all pass. */
  readonly fail: (...faults: Fault[]) => void
  readonly close: () => Promise<void>
}

/** A proxy in front of a server, with faults in a given order. */
export async function startFlakyProxy(target: string): Promise<FlakyProxy> {
  const requests: IncomingMessage['headers'][] = []
  const faults: Fault[] = []
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    requests.push(request.headers)
    const body = await text(request)
    const fault = faults.shift()
    if (fault === 'hang') return
    if (fault === 'reset') return void request.socket.destroy()
    if (typeof fault === 'object') return void response.writeHead(fault.status, fault.headers).end(fault.body)
    const { method = '', url = '' } = request
    const headers = Object.entries(request.headers).filter(([name]) => !/^(connection|host)$/.test(name))
    const answer = await fetch(target + url, {
      method,
      headers: headers as [string, string][],
      ...(body && { body }),
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    if (fault === 'lose') return void request.socket.destroy()
    const kept = [...answer.headers].filter(
      ([name]) => !/^(connection|keep-alive|content-length|transfer-encoding)$/.test(name),
    )
    response.writeHead(answer.status, {
      ...Object.fromEntries(kept),
      ...(answer.status !== 204 && { 'content-length': bytes.length }),
    })
    if (fault !== 'truncate') return void response.end(bytes)
    response.write(bytes.subarray(0, bytes.length / 2), () => request.socket.destroy())
  }
  const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    fail: (...next) => void faults.push(...next),
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
