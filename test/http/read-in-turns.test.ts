import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { readInTurns } from '../../src/http/connections.ts'

/** Sends bytes, and tells into how many pieces for the parser they were cut. */
async function countPieces(sent: string, isInBody: boolean): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [serverSide] = (await once(server, 'connection')) as [Socket]
  let [pieces, received] = [0, '']
  serverSide.on('data', (piece) => {
    pieces += 1
    received += piece
  })
  readInTurns(
    serverSide,
    () => false,
    () => isInBody,
  )
  socket.end(sent)
  await once(serverSide, 'end')
  serverSide.destroy()
  expect(received).toBe(sent)
  return pieces
}

const BYTES = 256 * 1024

it.each([
  ['empty lines before a request', '\r\n', false],
  ['a body of empty lines', '\r\n', true],
  ['a body of very short lines', 'x\r\n\r\n', true],
])('%s: few pieces, since each costs the parser more than its bytes', async (_name, line, isInBody) => {
  const pieces = await countPieces(line.repeat(BYTES / line.length), isInBody)
  expect(pieces).toBeLessThan(BYTES / 256)
})

it('each of several heads is a piece', async () => {
  expect(await countPieces('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(10), false)).toBe(10)
})
