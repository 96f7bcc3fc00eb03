import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

/** What happens to one request: a response of the proxy itself, or a fault of the network. */
export type Fault =
  | {
      readonly status: number
      readonly headers?: Record<string, string>
      readonly body: string
      /** How the body is written here: as text, or as base64 if its bytes are no text. */
      readonly encoding?: 'base64'
    }
  /** The connection is reset before the request was read. */
  | 'reset unread'
  /** The connection breaks before the server has the request. */
  | 'reset'
  /** The server answers, and the response is lost. */
  | 'lose'
  /** Half of the response arrives. */
  | 'truncate'
  /** Half of the response arrives, and the other half three seconds later. */
  | 'pause'
  /** A part of the head of the response arrives. */
  | 'cut head'
  /** No response. */
  | 'hang'
  /** A response that never ends, a byte at a time. */
  | 'trickle'
  /** A head that never ends, a byte at a time. */
  | 'trickle head'
  /** A response that never ends, as fast as it can be read. */
  | 'flood'
  /** A head that never ends, as fast as it can be read. */
  | 'flood head'

export type FlakyProxy = {
  readonly url: string
  /** The headers of all requests so far. */
  readonly requests: IncomingMessage['headers'][]
  /** How many connections were opened so far. */
  readonly connections: () => number
  /** Faults of the next requests, instead of those of before; then all pass. */
  readonly fail: (...faults: Fault[]) => void
  readonly close: () => Promise<void>
}

/** The faults for which the server is not asked. */
function answerItself(
  fault: string | undefined,
  { socket }: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (fault === 'hang') return true
  if (fault === 'reset') return Boolean(socket.destroy())
  if (fault === 'cut head')
    return socket.write('HTTP/1.1 200 OK\r\ncontent-le', () => socket.destroy()) || true
  if (!/^(trickle|flood)/.test(fault ?? '')) return false
  const isHead = fault?.endsWith('head') === true
  const isFlood = fault?.startsWith('flood') === true
  if (isHead) socket.write('HTTP/1.1 200 OK\r\n')
  else response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
  const to = isHead ? socket : response
  // What may be repeated for ever, in a head and in a body.
  const part = isHead ? 'x-a: b\r\n' : ' '
  const flood = part.repeat(2 ** 17)
  let sent = 0
  const write = () => {
    if (isFlood) while (to.writable && to.write(flood));
    else to.write(part.charAt(sent++ % part.length))
  }
  const timer = setInterval(write, 10)
  to.on('drain', write).on('close', () => clearInterval(timer))
  return true
}

/** Longer than the limit of the scenario for the beginning of a response, which is enough for a busy machine. */
const PAUSE_MS = 6000

/** Writes the body of the server: all of it, or with the fault. */
async function writeBody(
  fault: Fault | undefined,
  bytes: Buffer,
  { socket }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const half = bytes.length >> 1
  if (fault === 'truncate') return void response.write(bytes.subarray(0, half), () => socket.destroy())
  if (fault !== 'pause') return void response.end(bytes)
  response.write(bytes.subarray(0, half))
  await delay(PAUSE_MS)
  response.end(bytes.subarray(half))
}

/** A proxy in front of a server, with faults in a given order. */
export async function startFlakyProxy(target: string): Promise<FlakyProxy> {
  const requests: IncomingMessage['headers'][] = []
  const faults: Fault[] = []
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    requests.push(request.headers)
    const fault = faults.shift()
    if (fault === 'reset unread') return void request.socket.resetAndDestroy()
    const body = await text(request)
    if (typeof fault === 'object')
      return void response
        .writeHead(fault.status, fault.headers)
        .end(Buffer.from(fault.body, fault.encoding ?? 'utf8'))
    if (answerItself(fault, request, response)) return
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
    await writeBody(fault, bytes, request, response)
  }
  let connections = 0
  const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1')
  server.on('connection', () => {
    connections += 1
  })
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    connections: () => connections,
    fail: (...next) => void faults.splice(0, faults.length, ...next),
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
