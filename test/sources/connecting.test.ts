import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import { type Http, openHttp } from '../../src/sources/http.ts'

const open: { close: () => unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push(server)
  return (server.address() as AddressInfo).port
}

function openClient(url: string): Http {
  const http = openHttp({ source: 'dojah', url, allowPrivate: true })
  open.push(http)
  return http
}

const request = (url: string, signal = new AbortController().signal) =>
  openClient(url).send({ method: 'GET', path: '/' }, { signal })

describe('a request that was never sent is not paid for', () => {
  it('when a plain HTTP port is called over TLS', async () => {
    const port = await listen(createHttpServer((_request, response) => response.end('{}')))
    await expect(request(`https://127.0.0.1:${port}`)).rejects.toMatchObject({
      reason: 'unreachable',
      problem: 'no_tls',
      sent: false,
    })
  })

  it.each([
    ['closes the connection', (socket: Socket) => socket.end()],
    ['resets the connection', (socket: Socket) => socket.resetAndDestroy()],
    ['speaks another protocol', (socket: Socket) => socket.end('220 mail.example ESMTP\r\n')],
  ])('when the other side %s during the TLS handshake', async (_what, answer) => {
    const port = await listen(createServer((socket) => void answer(socket.on('error', () => {}))))
    await expect(request(`https://127.0.0.1:${port}`)).rejects.toMatchObject({
      reason: 'unreachable',
      problem: 'no_tls',
      sent: false,
    })
  })

  it('when there is no such host, or no listener', async () => {
    await expect(request('http://no-such-host.invalid')).rejects.toMatchObject({
      problem: 'no_such_host',
      sent: false,
    })
    const closed = createServer()
    const port = await listen(closed)
    closed.close()
    await expect(request(`http://127.0.0.1:${port}`)).rejects.toMatchObject({
      problem: 'no_connection',
      sent: false,
    })
  })

  it('when the deadline passes before a connection is made', async () => {
    const silent = await listen(createServer((socket) => void socket.on('error', () => {})))
    const controller = new AbortController()
    setImmediate(() => controller.abort())
    await expect(request(`https://127.0.0.1:${silent}`, controller.signal)).rejects.toMatchObject({
      reason: 'timeout',
      sent: false,
    })
  })

  it('but a request that was sent and not answered may be paid for', async () => {
    const controller = new AbortController()
    const port = await listen(createHttpServer(() => controller.abort()))
    await expect(request(`http://127.0.0.1:${port}`, controller.signal)).rejects.toMatchObject({
      reason: 'timeout',
      sent: true,
    })
  })
})

/** Listens, but accepts no connection. */
const NOT_ACCEPTING = `
  const { createServer } = require('node:net')
  const { parentPort } = require('node:worker_threads')
  const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port)
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))
  })`

/** A loopback port that drops connection attempts, because its accept queue is full. */
async function openFullPort(): Promise<number> {
  const worker = new Worker(NOT_ACCEPTING, { eval: true })
  open.push({ close: () => worker.terminate() })
  const [port] = (await once(worker, 'message')) as [number]
  for (;;) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    open.push({ close: () => socket.destroy() })
    const isFull = await Promise.race([
      once(socket, 'connect').then(() => false),
      // A turn later: a process that stood still handles its timers before its sockets.
      new Promise<boolean>((resolve) => setTimeout(() => setImmediate(resolve, true), 300)),
    ])
    if (isFull) return port
  }
}

describe('a connection that is never accepted', () => {
  // Other systems refuse a connection when the queue is full.
  it.skipIf(process.platform !== 'linux')('fails after two seconds, and is not paid for', async () => {
    const port = await openFullPort()
    // The system itself gives up after two minutes. Twenty seconds are enough for a busy machine.
    const late = new Promise((resolve) => setTimeout(resolve, 20_000, 'late').unref())
    const failed = request(`http://127.0.0.1:${port}`).catch((error: unknown) => error)
    expect(await Promise.race([failed, late])).toMatchObject({
      reason: 'unreachable',
      problem: 'slow_connection',
      sent: false,
    })
  })
})

describe('a TLS handshake that hangs', () => {
  const CALLS = 20

  it('keeps no other call from connecting', async () => {
    let connections = 0
    const allConnect = Promise.withResolvers<void>()
    const port = await listen(
      createServer((socket) => {
        socket.on('error', () => {})
        if (++connections === CALLS) allConnect.resolve()
      }),
    )
    const { send } = openClient(`https://127.0.0.1:${port}`)
    const controller = new AbortController()
    const calls = Array.from({ length: CALLS }, () =>
      send({ method: 'GET', path: '/' }, { signal: controller.signal }).catch((error: unknown) => error),
    )
    // In the time of one connection: a later one would need the end of an earlier one.
    await Promise.race([allConnect.promise, Promise.any(calls)])
    expect(connections).toBe(CALLS)
    controller.abort()
    await Promise.all(calls)
  })
})

describe('an informational answer before the answer', () => {
  const BODY = '{"a":"b"}'
  const ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`
  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
  /** Sends these pieces one by one, for every request of a connection. */
  const openServer = async (pieces: readonly string[]) => {
    const server = createServer((socket) => {
      socket.setNoDelay(true).on('error', () => {})
      const send = async () => {
        for (const piece of pieces) {
          socket.write(piece)
          await new Promise(setImmediate)
        }
      }
      socket.on('data', () => void send())
    })
    return `http://127.0.0.1:${await listen(server)}`
  }

  it.each<[string, readonly string[]]>([
    ['100 in its own packet', [CONTINUE, ANSWER]],
    ['100 in the same packet', [CONTINUE + ANSWER]],
    ['100 twice', [CONTINUE, CONTINUE, ANSWER]],
    ['100 of HTTP/1.0, without a reason', ['HTTP/1.0 100\r\n\r\n', ANSWER]],
    ['100 with headers', [CONTINUE.replace('\r\n\r\n', '\r\nx: HTTP/1.1 100 y\r\n\r\n'), ANSWER]],
    ['100 byte by byte', [...(CONTINUE + ANSWER)]],
    [
      '102 and 103',
      ['HTTP/1.1 102 Processing\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', ANSWER],
    ],
    ['103 and 100', ['HTTP/1.1 103 Early Hints\r\n\r\n', CONTINUE, ANSWER]],
    ['none', [ANSWER]],
    ['none, byte by byte', [...ANSWER]],
  ])('is no failure: %s', async (_what, pieces) => {
    const { send } = openClient(await openServer(pieces))
    const { signal } = new AbortController()
    // The connection is used again.
    for (let index = 0; index < 3; index++)
      expect(await send({ method: 'POST', path: '/', body: { index } }, { signal })).toEqual({
        status: 200,
        body: JSON.parse(BODY),
      })
  })

  it('is a failure without an answer behind it', async () => {
    const port = await listen(createServer((socket) => void socket.on('data', () => socket.end(CONTINUE))))
    await expect(request(`http://127.0.0.1:${port}`)).rejects.toMatchObject({ problem: 'cut_off' })
  })
})

describe('the text of an answer', () => {
  const openServer = async (body: Buffer, type: string) =>
    `http://127.0.0.1:${await listen(
      createHttpServer((_request, response) => response.writeHead(200, { 'content-type': type }).end(body)),
    )}`
  const JSON_TYPE = 'application/json'

  it.each([
    ['UTF-8', Buffer.from('{"a":"Ọlá"}'), JSON_TYPE, 'Ọlá'],
    ['UTF-8 with a byte order mark', Buffer.from('\ufeff{"a":"Ọlá"}'), JSON_TYPE, 'Ọlá'],
    ['UTF-8 declared as another', Buffer.from('{"a":"Ọlá"}'), `${JSON_TYPE}; charset=ISO-8859-1`, 'Ọlá'],
    ['ISO-8859-1', Buffer.from('{"a":"Zoë"}', 'latin1'), `${JSON_TYPE};charset="iso-8859-1"`, 'Zoë'],
    ['not declared', Buffer.from('{"a":"Zoë"}', 'latin1'), JSON_TYPE, 'Zo\ufffd'],
    ['an unknown one', Buffer.from('{"a":"Zoë"}', 'latin1'), `${JSON_TYPE}; charset=x-none`, 'Zo\ufffd'],
  ])('is read as it is written: %s', async (_what, body, type, text) => {
    expect(await request(await openServer(body, type))).toEqual({ status: 200, body: { a: text } })
  })
})
