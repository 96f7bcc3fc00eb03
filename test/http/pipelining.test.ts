import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildAdminServer, buildMetricsServer } from '../../src/admin/server.ts'
import type { App } from '../../src/http/app.ts'
import { drain } from '../../src/server/serve.ts'
import { openTestApp, PHONE, type TestApp } from '../app.ts'
import { createCertificate, writeCertificate } from '../certificate.ts'
import { statusesIn, toHead } from './raw.ts'

/** Responses that a connection may owe, and bytes that it may have to send, before it is read again. */
const [MAX_OWED, MAX_UNSENT] = [8, 64 * 1024]
const CHUNK = 65_000

let server: TestApp
let secure: TestApp
let listeners: Record<'api' | 'admin' | 'metrics' | 'tls', App>
beforeAll(async () => {
  server = await openTestApp({ TABBAT_RATE_LIMIT: 'off' })
  secure = await openTestApp({ ...writeCertificate(createCertificate()), TABBAT_SANDBOX: 'on' })
  const { app, context } = server
  app.route({
    methods: ['GET'],
    path: '/pieces',
    operation: 'pieces',
    answer: () => ({ status: 200, headers: [], body: toPieces() }),
  })
  listeners = {
    api: app,
    admin: buildAdminServer(context, app),
    metrics: buildMetricsServer(context),
    tls: secure.app,
  }
  for (const listener of Object.values(listeners)) await listener.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await listeners.admin.close()
  await listeners.metrics.close()
  await server.close()
  await secure.close()
})

/** More than all buffers between two sockets hold. */
async function* toPieces() {
  for (let index = 0; index < 400; index++) yield 'x'.repeat(16 * 1024)
}

/** A connection, and its other end in the server. */
async function openBoth(app: App): Promise<[Socket, Socket]> {
  const connected = once(app.server, 'connection')
  const { port } = app.listener.address() as AddressInfo
  const socket =
    app === listeners.tls
      ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
      : connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  const [serverSide] = (await connected) as [Socket]
  return [socket, serverSide]
}

/** Lets the event loop turn until nothing has begun for a while. */
async function settle(count: () => number): Promise<void> {
  for (let [quiet, before] = [0, -1]; quiet < 50; ) {
    await new Promise((done) => setImmediate(done))
    quiet = count() === before ? quiet + 1 : 0
    before = count()
  }
}

/** Counts the requests that begin, in all and at most in a turn of the event loop. */
function watchRequests(app: App) {
  const seen = { all: 0, mostInTurn: 0, stop: () => void app.server.off('request', count) }
  let inTurn = 0
  const count = () => {
    if (inTurn === 0)
      setImmediate(() => {
        inTurn = 0
      })
    inTurn += 1
    seen.all += 1
    seen.mostInTurn = Math.max(seen.mostInTurn, inTurn)
  }
  app.server.on('request', count)
  return seen
}

const repeat = (request: string, length = CHUNK) => request.repeat(Math.floor(length / request.length))
const keyless = (line: string, ...headers: string[]) =>
  `${[`${line} HTTP/1.1`, 'Host: localhost', ...headers].join('\r\n')}\r\n\r\n`

const LAST = keyless('GET /health/live', 'Connection: close')

describe('a caller that sends many requests at once and reads nothing', () => {
  it.each<[keyof typeof listeners, string]>([
    ['api', '/openapi.json'],
    ['api', '/docs'],
    ['api', '/pieces'],
    ['tls', '/openapi.json'],
    ['admin', '/admin/openapi.json'],
    ['admin', '/console'],
    ['admin', '/metrics'],
    ['metrics', '/metrics'],
  ])('%s %s: few responses and bytes wait', async (name, path) => {
    const app = listeners[name]
    const [socket, serverSide] = await openBoth(app)
    const seen = watchRequests(app)
    const [request, sent] = [keyless(`GET ${path}`), repeat(keyless(`GET ${path}`))]
    socket.pause().write(sent)
    // The system takes all of the short ones. Node may pause the connection first, with less unsent.
    const isOver = () =>
      seen.all === sent.length / request.length ||
      serverSide.isPaused() ||
      app.connections.find(serverSide)?.reading?.isHeld()
    await expect.poll(isOver).toBe(true)
    await settle(() => seen.all)
    const connection = app.connections.find(serverSide)
    const size = Number(
      (await fetchHead(app, path)).match(/content-length: (\d+)/i)?.[1] ?? MAX_UNSENT + 16 * 1024,
    )
    expect(connection?.pending).toBeLessThanOrEqual(MAX_OWED)
    expect(serverSide.writableLength).toBeLessThanOrEqual(MAX_UNSENT + size + 2000)
    expect(seen.mostInTurn).toBeLessThanOrEqual(2 * MAX_OWED)
    seen.stop()
    socket.destroy()
  })

  it.each([
    ['404', keyless('GET /nowhere'), 404],
    ['401', keyless('GET /api/v2/sme-data/list'), 401],
    ['405', keyless('DELETE /openapi.json'), 405],
    ['HEAD', keyless('HEAD /openapi.json'), 200],
    ['100-continue', keyless('GET /health/live', 'Expect: 100-continue'), 100],
    ['upgrade', keyless('GET /health/live', 'Connection: Upgrade', 'Upgrade: websocket'), 200],
    ['a look-up', toHead('GET /api/v2/sme-data/list'), 200],
    ['415', `${toHead('POST /api/v2/kyc/verify-nin', 'Content-Type: text/a', 'Content-Length: 2')}{}`, 415],
  ])('%s: few begin in a turn of the event loop, and all are answered', async (_name, request, status) => {
    const [socket] = await openBoth(listeners.api)
    const seen = watchRequests(listeners.api)
    const sent = repeat(request, 20_000)
    socket.write(sent + LAST)
    const statuses = statusesIn(await text(socket)).slice(0, -1)
    expect(new Set(statuses)).toEqual(new Set(status === 100 ? [100, 200] : [status]))
    expect(statuses).toHaveLength((sent.length / request.length) * (status === 100 ? 2 : 1))
    expect(seen.mostInTurn).toBeLessThanOrEqual(2 * MAX_OWED)
    seen.stop()
  })

  it.each([
    ['bytes that are not HTTP', 'NONSENSE\r\n\r\n', 400],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 405],
    ['a request without Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['an unknown expectation', keyless('GET /', 'Expect: banana'), 400],
    ['a body that is too large', toHead('POST /api/v2/kyc/verify-nin', 'Content-Length: 999999'), 413],
  ])(
    '%s many times: one response after those before it, then the connection ends',
    async (_name, bytes, status) => {
      const [socket] = await openBoth(listeners.api)
      socket.write(keyless('GET /health/live').repeat(20) + repeat(bytes))
      expect(statusesIn(await text(socket))).toEqual([...Array(20).fill(200), status])
    },
  )
})

async function fetchHead(app: App, path: string): Promise<string> {
  const [socket] = await openBoth(app)
  socket.write(keyless(`HEAD ${path}`, 'Connection: close'))
  return text(socket)
}

describe('a caller that reads', () => {
  const body = JSON.stringify({ nin: '12345678901', phone: PHONE })
  const chunked = ['{"nin":"12345678901",', `"phone":"${PHONE}"}\r\n\r\n`, '\r\n\r\n']
    .map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
    .join('')
  const REQUESTS: readonly (readonly [string, number])[] = [
    [keyless('GET /health/live'), 200],
    [keyless('GET /nowhere'), 404],
    [toHead('GET /api/v2/sme-data/list'), 200],
    [`${keyless('GET /api/v2/sme-data/list', 'Content-Length: 8')}\r\n\r\n\r\n\r\n`, 401],
    [toHead('POST /api/v2/kyc/verify-nin', `Content-Length: ${body.length}`) + body, 200],
    [`${toHead('POST /api/v2/kyc/verify-nin', 'Transfer-Encoding: chunked') + chunked}0\r\n\r\n`, 200],
    [`${toHead('POST /api/v2/kyc/verify-nin', 'Content-Length: 9')}\r\n\r\n{\r\n\r\n`, 400],
  ]

  it('gets all responses in order, however the requests are cut into pieces', async () => {
    const mix = fc.array(fc.constantFrom(...REQUESTS), { minLength: 1, maxLength: 30 })
    const cuts = fc.array(fc.nat(8000), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(mix, cuts, async (requests, places) => {
        const [socket] = await openBoth(listeners.api)
        const bytes = requests.map(([request]) => request).join('') + LAST
        const answers = text(socket)
        const ends = [...new Set(places.filter((place) => place < bytes.length))].sort((a, b) => a - b)
        let start = 0
        for (const end of [...ends, bytes.length]) {
          socket.write(bytes.slice(start, end))
          start = end
          await new Promise((done) => setImmediate(done))
        }
        expect(statusesIn(await answers)).toEqual([...requests.map(([, status]) => status), 200])
      }),
      { numRuns: 40 },
    )
  })

  it('a server that stops answers what it holds, and then closes the connection', async () => {
    const stopping = await openTestApp()
    await stopping.app.listen({ host: '127.0.0.1', port: 0 })
    const [socket] = await openBoth(stopping.app)
    stopping.app.server.once('request', () => {
      stopping.context.lifecycle.stopping = true
    })
    socket.write(keyless('GET /health/live').repeat(50))
    const answers = await text(socket)
    expect(statusesIn(answers)).toEqual(Array(50).fill(200))
    expect(answers.toLowerCase().match(/connection: close/g)).toHaveLength(1)
    await stopping.close()
  })
})

/** The bytes that the system has taken. */
function takenBy(serverSide: Socket): number {
  const { _handle } = serverSide as unknown as { _handle: { bytesWritten: number; writeQueueSize: number } }
  return _handle.bytesWritten - _handle.writeQueueSize
}

/** The timer of the server may have checked the connection before the test does. */
const forgetChecks = (connections: App['connections'], serverSide: Socket) =>
  Object.assign(connections.find(serverSide) ?? {}, { unread: undefined })

describe('a caller that stops reading', () => {
  /** `requests`: 400 responses (96 MB) are more than the buffers of any system take. */
  const stall = async (app: App, requests = 400): Promise<[Socket, Socket]> => {
    const [socket, serverSide] = await openBoth(app)
    socket.pause().write(keyless('GET /openapi.json').repeat(requests))
    // Node may pause the connection first, with less unsent.
    await expect
      .poll(() => app.connections.find(serverSide)?.reading?.isHeld() || serverSide.isPaused())
      .toBe(true)
    await untilFull(serverSide)
    return [socket, serverSide]
  }

  /** The buffers of the system grow for a while. */
  const untilFull = async (serverSide: Socket) => {
    let before = -1
    const isFull = () => {
      const taken = takenBy(serverSide)
      const isSame = taken === before
      before = taken
      return isSame && serverSide.writableLength > 0
    }
    await expect.poll(isFull).toBe(true)
  }

  it.each(['api', 'tls'] as const)('is disconnected after 30 seconds (%s)', async (name) => {
    const { connections } = listeners[name]
    const [socket, serverSide] = await stall(listeners[name])
    // Without a fraction: the difference of two sums would not be 30 seconds exactly.
    const now = Math.ceil(performance.now()) + 100_000
    const checkAt = (laterMs: number) => {
      connections.check(now + laterMs)
      return serverSide.destroyed
    }
    // Once the system takes no more.
    const isCut = () => {
      forgetChecks(connections, serverSide)
      return [0, 29_000, 30_000].map(checkAt)
    }
    await expect.poll(isCut).toEqual([false, false, true])
    socket.destroy()
  })

  it('has another 30 seconds when it reads a part', async () => {
    const { connections } = listeners.api
    const [socket, serverSide] = await stall(listeners.api)
    const now = Math.ceil(performance.now())
    connections.check(now)
    const before = takenBy(serverSide)
    socket.resume()
    // As much as counts as reading. The system may take less at first.
    await expect.poll(() => takenBy(serverSide)).toBeGreaterThanOrEqual(before + 16 * 1024)
    connections.check(now + 30_000)
    expect(serverSide.destroyed).toBe(false)
    socket.destroy()
  })

  it('is disconnected, too, when it takes a few bytes now and then', async () => {
    const { connections } = listeners.api
    const [socket, serverSide] = await stall(listeners.api)
    const handle = (serverSide as unknown as { _handle: { bytesWritten: number } })._handle
    const { bytesWritten } = handle
    // The system of a caller that reads a few bytes takes thousands more, or none. So the count is changed here.
    const checkAt = (laterMs: number, taken: number) => {
      Object.defineProperty(handle, 'bytesWritten', { value: bytesWritten + taken, configurable: true })
      connections.check(performance.now() + laterMs)
      return serverSide.destroyed
    }
    forgetChecks(connections, serverSide)
    const seen = [0, 1, 2, 3].map((step) => checkAt(100_000 + step * 10_000, step * 100))
    expect(seen).toEqual([false, false, false, true])
    socket.destroy()
  })

  it('gets the response to a body that was not read meanwhile, however long that took', async () => {
    const { server: http, connections } = listeners.api
    const body = JSON.stringify({ nin: '12345678901', phone: PHONE })
    const head = toHead('POST /api/v2/kyc/verify-nin', `Content-Length: ${body.length}`, 'Connection: close')
    const isLate = async ([socket, serverSide]: [Socket, Socket]) => {
      const { promise, resolve } = Promise.withResolvers<boolean>()
      // On a busy machine the usual limit may pass before the one that is set below.
      const onError = (_error: Error, late: unknown) => late === serverSide && resolve(true)
      let hasBegun = false
      const onRequest = (request: IncomingMessage) => {
        if (request.socket !== serverSide || request.method !== 'POST') return
        hasBegun = true
        request.on('end', () => resolve(false))
      }
      http.on('clientError', onError).on('request', onRequest)
      socket.pause().write(keyless('GET /pieces') + head + body.slice(0, 9))
      await expect.poll(() => serverSide.writableNeedDrain).toBe(true)
      await untilFull(serverSide)
      socket.write(body.slice(9))
      await expect.poll(() => connections.find(serverSide)?.reading?.isHeld()).toBe(true)
      connections.check(performance.now())
      Object.assign(http, { requestTimeout: 100, headersTimeout: 100 })
      // The head waits with the body if the server was too busy to read it: nothing is late then.
      const late = hasBegun && (await promise)
      Object.assign(http, { requestTimeout: 15_000, headersTimeout: 10_000 })
      http.off('clientError', onError).off('request', onRequest)
      return late
    }
    let both = await openBoth(listeners.api)
    // The system may take more than it did, and the server reads the request whole before its time is over; or a busy server has
    // read nothing of it: again.
    while (!(await isLate(both))) {
      both[0].destroy()
      both = await openBoth(listeners.api)
    }
    expect(statusesIn(await text(both[0]))).toEqual([200, 200])
  })

  it('gets all its responses when it goes on reading while the server stops', async () => {
    const stopping = await openTestApp()
    await stopping.app.listen({ host: '127.0.0.1', port: 0 })
    const [socket] = await stall(stopping.app, 40)
    const [, idleSide] = await openBoth(stopping.app)
    stopping.context.lifecycle.stopping = true
    const drained = drain(stopping.app)
    await expect.poll(() => idleSide.destroyed).toBe(true)
    expect(statusesIn(await text(socket))).toEqual(Array(40).fill(200))
    await drained
    await stopping.close()
  })

  it('counts as a stranger: it is closed for a new connection of its address', async () => {
    const small = await openTestApp({ TABBAT_MAX_STRANGERS_PER_ADDRESS: '3' })
    await small.app.listen({ host: '127.0.0.1', port: 0 })
    const all = [await stall(small.app), await stall(small.app), await stall(small.app)]
    for (const [, serverSide] of all)
      Object.assign(small.app.connections.find(serverSide) ?? {}, { openedAt: performance.now() - 3001 })
    const [next, nextSide] = await openBoth(small.app)
    expect(all.map(([, serverSide]) => serverSide.destroyed)).toEqual([true, false, false])
    expect(nextSide.destroyed).toBe(false)
    for (const [socket] of all) socket.destroy()
    next.destroy()
    await small.close()
  })
})
