import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { open, portOf, readAnswers, toHead } from './raw.ts'

/** Each takes two descriptors of this process, of which there may be 1024. */
const SLOW = 200
let server: TestApp
let slow: Socket[]

/** As many connections as the in-flight limit, each with a valid key, a head and the first byte of a body. */
beforeAll(async () => {
  server = await openTestApp({
    TABBAT_MAX_IN_FLIGHT: String(SLOW),
    TABBAT_MAX_IN_FLIGHT_PER_KEY: String(SLOW),
  })
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  let requests = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  const count = () => {
    requests += 1
    if (requests === SLOW) resolve()
  }
  server.app.server.on('request', count)
  const begin = async () => {
    const socket = await open(server)
    socket.write(`${toHead('POST /api/v2/kyc/verify-nin', 'Content-Length: 50')}{`)
    return socket
  }
  slow = []
  while (slow.length < SLOW) slow.push(...(await Promise.all(Array.from({ length: 100 }, begin))))
  await promise
  server.app.server.off('request', count)
})
afterAll(async () => {
  for (const socket of slow) socket.destroy()
  await server.close()
})

const verify = async () => {
  const answer = await fetch(`http://127.0.0.1:${portOf(server)}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: { ...bearer(), 'content-type': 'application/json' },
    body: JSON.stringify({ nin: '12345678901', phone: PHONE }),
  })
  await answer.text()
  return answer.status
}

it('requests whose bodies do not arrive are not in flight: other callers are served', async () => {
  expect(await Promise.all(Array.from({ length: 50 }, verify))).toEqual(Array(50).fill(200))
})

it('a body that arrives is served however many others do not', async () => {
  const [first] = slow as [Socket]
  const body = JSON.stringify({ nin: '12345678901', phone: PHONE }).padEnd(50)
  first.write(body.slice(1))
  expect(await readAnswers(first, 1)).toMatch(/^HTTP\/1.1 200 /)
})

it('a body below the minimum rate ends with 408, and its connection is closed', async () => {
  const answers = slow.slice(1).map((socket) => readAnswers(socket, 1))
  const closed: Promise<unknown>[] = []
  server.app.server.getConnections((_error, count) => expect(count).toBeGreaterThanOrEqual(SLOW - 1))
  server.app.connections.check(performance.now())
  server.app.connections.check(performance.now() + 11_500)
  for (const answer of await Promise.all(answers)) {
    expect(answer).toMatch(/^HTTP\/1.1 408 /)
    expect(answer).toContain('"code":"request_timeout"')
    expect(answer.toLowerCase()).toContain('connection: close')
  }
  for (const socket of slow.slice(1)) if (!socket.closed) closed.push(once(socket.end(), 'close'))
  await Promise.all(closed)
})

it('a small body that arrives late is served', async () => {
  const socket = await open(server)
  const requested = once(server.app.server, 'request')
  const body = JSON.stringify({ nin: '12345678901', phone: PHONE })
  socket.write(toHead('POST /api/v2/kyc/verify-nin', `Content-Length: ${body.length}`))
  const [message] = await requested
  const { connections } = server.app
  // The timer of the server may have seen it before, and the machine may be slow.
  Object.assign(connections.find(message.socket) ?? {}, { slow: undefined })
  const now = performance.now()
  connections.check(now)
  connections.check(now + 9000)
  socket.write(body)
  expect(await readAnswers(socket, 1)).toMatch(/^HTTP\/1.1 200 /)
  socket.destroy()
})

it('a long body at a sufficient rate is not cut off', async () => {
  const socket = await open(server)
  const requested = once(server.app.server, 'request')
  socket.write(toHead('POST /api/v2/kyc/verify-nin', 'Content-Length: 16000'))
  const [message] = await requested
  server.app.connections.check(performance.now())
  socket.write(' '.repeat(12_000))
  while (message.socket.bytesRead < 12_000) await new Promise((done) => setImmediate(done))
  server.app.connections.check(performance.now() + 12_000)
  socket.write(' '.repeat(4000))
  expect(await readAnswers(socket, 1)).toMatch(/^HTTP\/1.1 4(00|22) /)
  socket.destroy()
})
