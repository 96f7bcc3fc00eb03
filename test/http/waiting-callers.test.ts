import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { type ApiServer, createApiServer } from '../../src/server/api-server.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { createStandIn, withStandIn } from '../battery/stand-in.ts'

/** Requests that only wait take no place of working ones, and leave some to wait for every other key. */
const SETTINGS = { TABBAT_MAX_IN_FLIGHT: '4', TABBAT_MAX_WAITING: '16' }
/** More than may be in flight at once. They end before the first request that waits, which does so for 15 seconds. */
const REQUESTS = 6
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function start(): Promise<TestApp> {
  const server = await openTestApp(SETTINGS)
  closing.push(server.close)
  return server
}

async function listen(app: ApiServer): Promise<string> {
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  closing.push(() => app.server.closeAllConnections())
  return url
}

const verify = (url: string, key: string, nin: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ nin, phone: PHONE }),
  })

async function verifyInTurn(url: string, key: string): Promise<number[]> {
  const statuses: number[] = []
  while (statuses.length < REQUESTS)
    statuses.push(await verify(url, key, `2000000${1000 + statuses.length}`).then(({ status }) => status))
  return statuses
}

/** Sends a verification and does not wait for its response. */
function send(url: string, key: string, nin: string, header: string): Socket {
  const { hostname, port } = new URL(url)
  const body = JSON.stringify({ nin, phone: PHONE })
  const socket = connect(Number(port), hostname).on('error', () => {})
  socket.write(
    `POST /api/v2/kyc/verify-nin HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n${header}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  closing.push(() => socket.destroy())
  return socket
}

/** Sends requests until so many more wait. */
async function fill(app: ApiServer, send: () => unknown, most: number): Promise<void> {
  const before = app.admission.count()
  for (let count = 1; count <= most; count++) {
    send()
    await expect.poll(() => app.admission.count(), { interval: 5 }).toBe(before + count)
  }
}

it.each([
  ['Prefer: respond-async, wait=30', '00000000503'],
  ['X-Sandbox-Delay: real', '00000000504'],
])('two keys with requests that wait (%s) do not keep a third from its answers', async (header, nin) => {
  const { app, createKey } = await start()
  const url = await listen(app)
  const [one, two, third] = [await createKey(), await createKey(), await createKey()]
  // Half of 16, then half of the rest.
  await fill(app, () => send(url, one, nin, header), 8)
  await fill(app, () => send(url, two, nin, header), 4)
  expect(await verifyInTurn(url, third)).toEqual(Array(REQUESTS).fill(200))
  // A request of the third that waits has a place, too.
  await fill(app, () => send(url, third, nin, header), 1)
})

it('a caller that may not wait for a pending answer gets 202 at once, and one that can only wait 503', async () => {
  const { app, createKey } = await start()
  const url = await listen(app)
  const key = await createKey()
  await fill(app, () => send(url, key, '00000000503', 'Prefer: respond-async, wait=30'), 8)
  const prefer = { prefer: 'respond-async, wait=30' }
  expect((await verify(url, key, '00000000503', prefer)).status).toBe(202)
  expect((await verify(url, key, '00000000504', { 'x-sandbox-delay': 'real' })).status).toBe(503)
})

it('callers that wait for a vendor take no working place, and get its answer however many come at once', async () => {
  const server = await start()
  const standIn = createStandIn(true)
  const release = standIn.hold()
  const app = createApiServer(withStandIn(server.context, standIn))
  closing.push(app.close)
  const url = await listen(app)
  const [busy, other] = [await server.createKey({ mode: 'live' }), await server.createKey({ mode: 'live' })]
  const answers: Promise<Response>[] = []
  const ask = (key: string) => answers.push(verify(url, key, `3090000${1000 + answers.length}`))
  await fill(app, () => ask(busy), 8)
  expect((await verify(url, busy, '30900009999')).status).toBe(503)
  expect((await fetch(`${url}/api/v2/sme-data/list`, { headers: bearer(other) })).status).toBe(200)
  await fill(app, () => ask(other), 1)
  release()
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(9).fill(200))
  await expect.poll(() => app.admission.count()).toBe(0)
  // All places to wait are free again.
  const releaseAgain = standIn.hold()
  await fill(app, () => ask(busy), 8)
  releaseAgain()
  await Promise.all(answers)
})

it('bodies of batches that arrive slowly take no working place', async () => {
  const { app, createKey } = await start()
  const url = await listen(app)
  const { hostname, port } = new URL(url)
  const [one, two, third] = [await createKey(), await createKey(), await createKey()]
  const sockets: Socket[] = []
  const upload = (key: string) => {
    const socket = connect(Number(port), hostname).on('error', () => {})
    socket.write(
      `POST /api/v2/kyc/batches HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/x-ndjson\r\nContent-Length: 80\r\n\r\n`,
    )
    closing.push(() => socket.destroy())
    sockets.push(socket)
  }
  await fill(app, () => upload(one), 2)
  await fill(app, () => upload(two), 2)
  expect(await verifyInTurn(url, third)).toEqual(Array(REQUESTS).fill(200))
  const row = JSON.stringify({ operation: 'verify_nin', nin: '12345678901', phone: PHONE })
  const [first] = sockets as [Socket]
  const answer = once(first, 'data')
  first.write(row.padEnd(80))
  expect(String(await answer)).toMatch(/^HTTP\/1.1 202 /)
})
