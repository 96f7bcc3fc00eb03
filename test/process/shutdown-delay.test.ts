import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createClient } from '../battery/client.ts'
import { childrenOf, type RunningServer, startServer } from './tabbat.ts'

/** Longer than any test: a server that waits for it would fail the test. */
const LONG = '5m'

const start = (settings = {}) =>
  startServer({ TABBAT_LOG_LEVEL: 'silent', TABBAT_SHUTDOWN_DELAY: LONG, ...settings })

const readReady = async ({ url }: RunningServer) => {
  const response = await fetch(`${url}/health/ready`)
  return [response.status, ((await response.json()) as { status: string }).status]
}

/** On a connection of its own. */
async function verify({ url }: RunningServer) {
  const client = createClient(1)
  const person = { nin: '12345678901', phone: '08031234567' }
  const reply = await client.post(`${url}/api/v2/kyc/verify-nin`, person, {
    authorization: `Bearer ${SANDBOX_KEY}`,
  })
  client.close()
  return [reply.status, reply.headers.connection]
}

describe('TABBAT_SHUTDOWN_DELAY', () => {
  it('keeps the server answering after SIGTERM, not ready, until a second signal ends the delay', async () => {
    const server = await start()
    expect(await readReady(server)).toEqual([200, 'ready'])
    const ended = server.stop()
    await expect.poll(() => readReady(server)).toEqual([503, 'stopping'])
    expect(await verify(server)).toEqual([200, 'close'])
    server.child.kill('SIGINT')
    expect(await ended).toBe(0)
  })

  it('ends by itself', async () => {
    const server = await start({ TABBAT_SHUTDOWN_DELAY: '1s' })
    expect(await server.stop()).toBe(0)
  })

  it('does not hold for SIGINT, which Ctrl-C sends', async () => {
    const { child } = await start()
    child.kill('SIGINT')
    expect(await once(child, 'close')).toEqual([0, null])
  })

  it('holds for workers that are signalled twice, as by systemd, and ends with a second signal', async () => {
    const server = await start({ TABBAT_WORKERS: '2', TABBAT_ADMIN_PORT: '0' })
    const { child, banner } = server
    const readMetrics = async () => (await fetch(/metrics +(\S+)/.exec(banner)?.[1] ?? '')).text()
    await expect.poll(readMetrics).toContain('worker="2"')
    for (const worker of await childrenOf(child.pid)) process.kill(worker, 'SIGTERM')
    const ended = server.stop()
    // Connections are distributed in turn.
    for (let each = 0; each < 4; each++) await expect.poll(() => readReady(server)).toEqual([503, 'stopping'])
    for (let each = 0; each < 4; each++) expect(await verify(server)).toEqual([200, 'close'])
    child.kill('SIGINT')
    expect(await ended).toBe(0)
  })
})
