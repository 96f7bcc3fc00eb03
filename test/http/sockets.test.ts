import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTestApp, PHONE, type TestApp } from '../app.ts'
import { open, portOf, readAnswers, statusesIn, toHead } from './raw.ts'

let server: TestApp
let finish: () => void
const begun = Promise.withResolvers<void>()
beforeAll(async () => {
  server = await openTestApp()
  server.app.route({
    methods: ['GET'],
    path: '/large',
    operation: 'large',
    answer: () => ({ status: 200, headers: [], body: Buffer.alloc(50_000_000) }),
  })
  server.app.route({
    methods: ['GET'],
    path: '/long-work',
    operation: 'long_work',
    answer: async () => {
      await new Promise<void>((resolve) => {
        finish = resolve
        begun.resolve()
      })
      return { status: 200, headers: [], body: '{}' }
    },
  })
  await server.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => server.close())

/** A connection, and its other end in the server. */
async function openBoth(): Promise<[Socket, Socket]> {
  const connected = once(server.app.server, 'connection')
  const socket = await open(server)
  return [socket, (await connected)[0] as Socket]
}

/** The check of every second sets the timeout of a connection that is in use. */
function shortenTimeout(serverSide: Socket): void {
  server.app.connections.check(performance.now())
  expect(serverSide.timeout).toBe(30_000)
  serverSide.setTimeout(100)
}

it('a socket is destroyed after 408, though the caller keeps its end open', async () => {
  const [socket, serverSide] = await openBoth()
  server.app.server.headersTimeout = 100
  socket.write('GET /health/live HTTP/1.1\r\nHost')
  expect(statusesIn(await readAnswers(socket, 1))).toEqual([408])
  if (!serverSide.closed) await once(serverSide, 'close')
  server.app.server.headersTimeout = 10_000
  expect(serverSide.destroyed).toBe(true)
  socket.destroy()
})

it('a caller that does not read its response is disconnected', async () => {
  const [socket, serverSide] = await openBoth()
  socket.write(toHead('GET /large'))
  await once(socket.pause(), 'readable')
  shortenTimeout(serverSide)
  await once(serverSide, 'close')
  expect(serverSide.destroyed).toBe(true)
  socket.destroy()
})

it('a caller whose response takes longer to make is not disconnected', async () => {
  const [socket, serverSide] = await openBoth()
  socket.write(toHead('GET /long-work'))
  await begun.promise
  shortenTimeout(serverSide)
  await once(serverSide, 'timeout')
  finish()
  expect(statusesIn(await readAnswers(socket, 1))).toEqual([200])
  socket.destroy()
})

it('CONNECT gets 405 in our shape, and the connection is closed', async () => {
  const socket = await open(server)
  socket.write('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n')
  const answer = await text(socket)
  expect(answer).toMatch(/^HTTP\/1.1 405 Method Not Allowed\r\n/)
  expect(answer).toMatch(/\r\nAllow: [A-Z, ]*GET/)
  const body = JSON.parse(answer.slice(answer.indexOf('{')))
  expect(body).toMatchObject({ success: false, code: 'method_not_allowed', retryable: false })
  expect(answer).toContain(`X-Request-Id: ${body.request_id}`)
  socket.destroy()
})

it('CONNECT is answered after the requests before it', async () => {
  const body = JSON.stringify({ nin: '12345678901', phone: PHONE })
  const verify = toHead('POST /api/v2/kyc/verify-nin', `Content-Length: ${body.length}`) + body
  const socket = await open(server)
  socket.write(`${verify}${verify}CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n`)
  expect(statusesIn(await text(socket))).toEqual([200, 200, 405])
  socket.destroy()
})

it('a request to upgrade the protocol is ignored', async () => {
  const socket = await open(server)
  const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
  socket.write(toHead('GET /health/live', ...upgrade))
  expect(statusesIn(await readAnswers(socket, 1))).toEqual([200])
  socket.destroy()
})

it('bytes that are not HTTP are answered after the requests before them', async () => {
  const body = JSON.stringify({ nin: '12345678901', phone: PHONE })
  const socket = await open(server)
  const good = toHead('POST /api/v2/kyc/verify-nin', `Content-Length: ${body.length}`) + body
  socket.write(`${good}${good}NONSENSE\r\n\r\n`)
  const answers = await text(socket)
  expect(statusesIn(answers)).toEqual([200, 200, 400])
  socket.destroy()
})

it('requests that were read before the signal to stop are all answered, the last one with connection: close', async () => {
  const stopping = await openTestApp()
  await stopping.app.listen({ host: '127.0.0.1', port: 0 })
  const body = JSON.stringify({ nin: '12345678901', phone: PHONE })
  const verify = toHead('POST /api/v2/kyc/verify-nin', `Content-Length: ${body.length}`) + body
  const look = toHead('GET /api/v2/sme-data/list')
  for (const requests of [
    [look, look, look],
    [verify, verify, verify],
    [verify, look, look],
    [look, verify, look, verify],
  ]) {
    stopping.context.lifecycle.stopping = false
    stopping.app.server.once('request', () => {
      stopping.context.lifecycle.stopping = true
    })
    const socket = connect(portOf(stopping), '127.0.0.1')
    socket.write(requests.join(''))
    const answers = await text(socket)
    expect(statusesIn(answers)).toEqual(requests.map(() => 200))
    expect(answers.toLowerCase().match(/connection: close/g)).toHaveLength(1)
    expect(answers.toLowerCase().lastIndexOf('connection: close')).toBeGreaterThan(
      answers.lastIndexOf('HTTP/1.1'),
    )
  }
  await stopping.close()
})

it('an authenticated connection stays open when its address has too many unauthenticated ones', async () => {
  const small = await openTestApp({ TABBAT_MAX_STRANGERS_PER_ADDRESS: '5' })
  await small.app.listen({ host: '127.0.0.1', port: 0 })
  const known = await open(small)
  known.write(toHead('GET /api/v2/sme-data/list'))
  expect(statusesIn(await readAnswers(known, 1))).toEqual([200])
  const silent = await Promise.all(Array.from({ length: 5 }, () => open(small)))
  const [first] = silent as [Socket]
  let isClosed = false
  first.resume().on('end', () => {
    isClosed = true
  })
  // The oldest may be closed for a new one when it is three seconds old.
  const openOneMore = async () => {
    const socket = await open(small)
    socket.destroy()
    return isClosed
  }
  await expect.poll(openOneMore).toBe(true)
  known.write(toHead('GET /api/v2/sme-data/list'))
  expect(statusesIn(await readAnswers(known, 1))).toEqual([200])
  for (const socket of [...silent, known]) socket.destroy()
  await small.close()
})
