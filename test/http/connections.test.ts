import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, expect, it } from 'vitest'
import { watchConnections } from '../../src/http/connections.ts'

const server = createServer()
const connections = watchConnections(server, {
  max: 2,
  unauthenticatedPerAddress: 100,
  isProxy: () => false,
  stalledMs: 30_000,
})
server.on('request', (message: IncomingMessage) => connections.begin(message))
afterAll(() => {
  connections.close()
  server.closeAllConnections()
  server.close()
})

const open = () => connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})

async function openWithoutBody() {
  const requested = once(server, 'request')
  const socket = open()
  socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n')
  await requested
  return socket
}

it('when all connections wait for bodies, the one whose body is late makes room for a new one', async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const first = await openWithoutBody()
  connections.check(performance.now())
  const second = await openWithoutBody()
  const refused = open().resume()
  await once(refused, 'close')
  connections.check(performance.now() + 5000)
  const closed = once(first.resume(), 'close')
  const third = await openWithoutBody()
  await closed
  expect([second.destroyed, third.destroyed]).toEqual([false, false])
  second.destroy()
  third.destroy()
})
