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

const ask = (url: string, signal = new AbortController().signal) =>
  openClient(url).send({ method: 'GET', path: '/' }, { signal })

describe('a question that never left costs nothing', () => {
  it('when TLS is spoken to a port of plain HTTP', async () => {
    const port = await listen(createHttpServer((_request, response) => response.end('{}')))
    await expect(ask(`https://127.0.0.1:${port}`)).rejects.toMatchObject({
      reason: 'unreachable',
      problem: 'no_tls',
      sent: false,
    })
  })

  it.each([
    ['hangs up', (socket: Socket) => socket.end()],
    ['resets the connection', (socket: Socket) => socket.resetAndDestroy()],
    ['speaks another protocol', (socket: Socket) => socket.end('220 mail.example ESMTP\r\n')],
  ])('when the other side %s before TLS is agreed upon', async (_what, answer) => {
    const port = await listen(createServer((socket) => void answer(socket.on('error', () => {}))))
    await expect(ask(`https://127.0.0.1:${port}`)).rejects.toMatchObject({
      reason: 'unreachable',
      problem: 'no_tls',
      sent: false,
    })
  })

  it('when there is no such host, or nothing listens there', async () => {
    await expect(ask('http://no-such-host.invalid')).rejects.toMatchObject({
      problem: 'no_such_host',
      sent: false,
    })
    const gone = createServer()
    const port = await listen(gone)
    gone.close()
    await expect(ask(`http://127.0.0.1:${port}`)).rejects.toMatchObject({
      problem: 'no_connection',
      sent: false,
    })
  })

  it('when the time is over before a connection was made', async () => {
    const silent = await listen(createServer((socket) => void socket.on('error', () => {})))
    const time = new AbortController()
    setImmediate(() => time.abort())
    await expect(ask(`https://127.0.0.1:${silent}`, time.signal)).rejects.toMatchObject({
      reason: 'timeout',
      sent: false,
    })
  })

  it('but one that was sent and is not answered may cost', async () => {
    const time = new AbortController()
    const port = await listen(createHttpServer(() => time.abort()))
    await expect(ask(`http://127.0.0.1:${port}`, time.signal)).rejects.toMatchObject({
      reason: 'timeout',
      sent: true,
    })
  })
})

/** Listens, and accepts nothing. */
const DEAF = `
  const { createServer } = require('node:net')
  const { parentPort } = require('node:worker_threads')
  const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port)
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))
  })`

/** A port on loopback that drops whoever wants to connect: its queue is full, and nobody takes from it. */
async function openBlackHole(): Promise<number> {
  const worker = new Worker(DEAF, { eval: true })
  open.push({ close: () => worker.terminate() })
  const [port] = (await once(worker, 'message')) as [number]
  for (;;) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    open.push({ close: () => socket.destroy() })
    const isFull = await Promise.race([
      once(socket, 'connect').then(() => false),
      new Promise<boolean>((resolve) => setTimeout(resolve, 300, true)),
    ])
    if (isFull) return port
  }
}

describe('a connection to a black hole', () => {
  // Elsewhere a full queue is refused, which is no black hole.
  it.skipIf(process.platform !== 'linux')('is given up after two seconds, and costs nothing', async () => {
    const port = await openBlackHole()
    // Timers of one process come in their order, however slow the machine is.
    const late = new Promise((resolve) => setTimeout(resolve, 2250, 'late'))
    const failed = ask(`http://127.0.0.1:${port}`).catch((error: unknown) => error)
    expect(await Promise.race([failed, late])).toMatchObject({
      reason: 'unreachable',
      problem: 'slow_connection',
      sent: false,
    })
  })
})
