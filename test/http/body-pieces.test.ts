import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { readBodyPieces } from '../../src/http/body-pieces.ts'
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
  let bytes = first.done ? 0 : first.value.length
  for await (const piece of pieces) bytes += piece.length
  expect(bytes).toBe(body.length)
  response.end()
  await once(sent, 'response')
})
