import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { startServer } from './tabbat.ts'

const REQUEST = `GET /api/v2/sme-data/list HTTP/1.1\r\nHost: x\r\nAuthorization: ${SANDBOX_KEY}\r\nConnection: close\r\n\r\n`

it('answers every request that was sent before the signal to stop, each on a connection of its own', async () => {
  const server = await startServer({ TABBAT_LOG_LEVEL: 'silent', TABBAT_RATE_LIMIT: 'off' })
  const port = Number(new URL(server.url).port)
  let signalled = false
  let [answered, lost] = [0, 0]

  const ask = async () => {
    const socket = connect(port, '127.0.0.1')
    let sentBefore = false
    try {
      await once(socket, 'connect')
      await new Promise<void>((done) => socket.write(REQUEST, () => done()))
      sentBefore = !signalled
      if ((await text(socket)).startsWith('HTTP/1.1 200')) answered += 1
      else if (sentBefore) lost += 1
    } catch {
      if (sentBefore) lost += 1
    }
  }
  const caller = async () => {
    while (!signalled) await ask()
  }
  const callers = Array.from({ length: 16 }, caller)
  while (answered < 300) await new Promise((done) => setImmediate(done))
  const ended = server.stop()
  signalled = true
  await Promise.all(callers)
  expect(await ended).toBe(0)
  expect(answered).toBeGreaterThanOrEqual(300)
  expect(lost).toBe(0)
})
