import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { readBodyPieces } from '../../src/http/body.ts'
import type { Exchange } from '../../src/http/exchange.ts'

it('a body is received while its first piece is still in use, and then read whole', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const body = Buffer.alloc(15 * 1024 * 1024, 'x')
  const { port } = server.address() as AddressInfo
  const sent = request({ port, host: '127.0.0.1', method: 'POST' }).end(body)
  const [raw, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  const pieces = readBodyPieces({ raw, awaitsContinue: false } as unknown as Exchange)
  const first = await pieces.next()
  await expect.poll(() => raw.complete).toBe(true)
  let [bytes, count, turns] = [first.done ? 0 : first.value.length, 0, 0]
  const countTurns = () => {
    turns += 1
    turning = setImmediate(countTurns)
  }
  let turning = setImmediate(countTurns)
  for await (const piece of pieces) {
    bytes += piece.length
    count += 1
  }
  clearImmediate(turning)
  expect(bytes).toBe(body.length)
  // Other requests have a turn after each piece.
  expect(turns).toBeGreaterThanOrEqual(count - 1)
  expect(count).toBeGreaterThan(900)
  response.end()
  await once(sent, 'response')
})

it('a body of very many pieces is handed on in few', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  const [chunks, head] = [50_000, 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n']
  socket.end(`${head}${'1\r\nx\r\n'.repeat(chunks)}0\r\n\r\n`)
  const [raw, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  const pieces = readBodyPieces({ raw, awaitsContinue: false } as unknown as Exchange)
  let [count, bytes] = [0, 0]
  for await (const piece of pieces) {
    // All that has arrived meanwhile is one piece.
    if (count === 0) await expect.poll(() => raw.complete).toBe(true)
    count += 1
    bytes += piece.length
  }
  expect([bytes, count < 50]).toEqual([chunks, true])
  response.end()
})
