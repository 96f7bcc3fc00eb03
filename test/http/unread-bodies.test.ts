import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { closeAfterResponse } from '../../src/http/send.ts'
import { openTestApp, type TestApp } from '../app.ts'
import { AUTHORIZATION, open, readAnswers, statusesIn, toHead } from './raw.ts'

let server: TestApp
let limited: TestApp
beforeAll(async () => {
  server = await openTestApp()
  limited = await openTestApp({ TABBAT_RATE_LIMIT: '1' })
  for (const { app } of [server, limited]) await app.listen({ host: '127.0.0.1', port: 0 })
  await limited.app.inject({ url: '/api/v2/sme-data/list', headers: { authorization: AUTHORIZATION } })
})
afterAll(async () => {
  await server.close()
  await limited.close()
})

const GIGABYTE = 1_000_000_000
/** 64 KiB, and what reads of 64 KiB and the buffer of a paused socket add to it. */
const MAX_READ = 400_000
const PIECE = Buffer.alloc(65_536, 'x')
const withoutKey = (head: string) => head.replace(/Authorization: .*\r\n/, '')

/** Sends a body for as long as it is taken, ten megabytes at most, and tells how much was read. */
async function flood(socket: Socket, toPiece: (bytes: Buffer) => Buffer | string) {
  for (let sent = 0; sent < 10_000_000 && !socket.destroyed; sent += PIECE.length)
    if (!socket.write(toPiece(PIECE)))
      await new Promise<void>((done) => socket.once('drain', done).once('close', done))
}

async function refuse(to: TestApp, head: string, toPiece = (bytes: Buffer): Buffer | string => bytes) {
  const connected = once(to.app.server, 'connection')
  const socket = await open(to)
  const [serverSide] = (await connected) as [Socket]
  const answer = readAnswers(socket, 1)
  socket.write(head)
  await flood(socket, toPiece)
  if (!serverSide.closed) await once(serverSide, 'close')
  socket.destroy()
  return { answer: await answer, bytesRead: serverSide.bytesRead }
}

const LENGTH = `Content-Length: ${GIGABYTE}`
const CHUNKED = 'Transfer-Encoding: chunked'
const toChunk = (bytes: Buffer) => `${bytes.length.toString(16)}\r\n${bytes}\r\n`
const NIN = 'POST /api/v2/kyc/verify-nin'

describe('a refused request with a long body', () => {
  it.each([
    ['without a key', 401, () => server, withoutKey(toHead(NIN, LENGTH))],
    ['to nowhere', 404, () => server, toHead('POST /nowhere', LENGTH)],
    ['with a wrong method', 405, () => server, toHead('DELETE /api/v2/sme-data/list', LENGTH)],
    ['that is too large', 413, () => server, toHead(NIN, LENGTH)],
    ['of a wrong type', 415, () => server, toHead(NIN, LENGTH, 'Content-Type: text/plain')],
    ['above the rate limit', 429, () => limited, toHead(NIN, LENGTH)],
  ])(
    '%s: %d, at most 64 KiB more are read, then the connection is closed',
    async (_what, status, to, head) => {
      const { answer, bytesRead } = await refuse(to(), head)
      expect(statusesIn(answer)).toEqual([status])
      expect(answer.toLowerCase()).toContain('connection: close')
      expect(bytesRead).toBeLessThan(MAX_READ)
    },
  )

  it('in chunks is cut off, too', async () => {
    const { answer, bytesRead } = await refuse(server, withoutKey(toHead(NIN, CHUNKED)), toChunk)
    expect(statusesIn(answer)).toEqual([401])
    expect(answer.toLowerCase()).toContain('connection: close')
    expect(bytesRead).toBeLessThan(MAX_READ)
  })
})

it.each([
  ['a length', LENGTH, (bytes: Buffer) => bytes],
  ['chunks', CHUNKED, toChunk],
])('a long body with %s that no operation reads is cut as well', async (_what, header, toPiece) => {
  const { answer, bytesRead } = await refuse(server, toHead('GET /api/v2/sme-data/list', header), toPiece)
  expect(statusesIn(answer)).toEqual([200])
  expect(bytesRead).toBeLessThan(MAX_READ)
})

it.each([
  ['no key', withoutKey(toHead(NIN, 'Content-Length: 40000')), 401],
  ['a wrong type', toHead(NIN, 'Content-Length: 10000', 'Content-Type: text/plain'), 415],
])('a short body is read to its end: the connection goes on after %s', async (_what, head, status) => {
  const socket = await open(server)
  const answers = readAnswers(socket, 2)
  const length = Number(/Content-Length: (\d+)/.exec(head)?.[1])
  socket.write(head + 'x'.repeat(length) + toHead('GET /health/live'))
  expect(statusesIn(await answers)).toEqual([status, 200])
  socket.destroy()
})

it('a caller that sends too much has a moment to read the response, and is then cut off', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const listener = createServer((socket) => closeAfterResponse(socket, 'response')).listen(0, '127.0.0.1')
  try {
    await once(listener, 'listening')
    const accepted = once(listener, 'connection')
    const caller = connect((listener.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
    const [socket] = (await accepted) as [Socket]
    const closed = once(socket, 'close')
    for (let sent = 0; sent < 10_000_000; sent += PIECE.length) caller.write(PIECE)
    await expect.poll(() => socket.isPaused() || socket.destroyed).toBe(true)
    expect(socket.destroyed).toBe(false)
    expect(String((await once(caller, 'data'))[0])).toBe('response')
    vi.runAllTimers()
    await closed
    expect(socket.bytesRead).toBeLessThan(MAX_READ)
    caller.destroy()
  } finally {
    vi.useRealTimers()
    listener.close()
  }
})
