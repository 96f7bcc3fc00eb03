import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApiKey } from '../../src/keys/api-key.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { openTestApp, type TestApp } from '../app.ts'
import { compareTimes } from '../timing.ts'

let server: TestApp
let url: string
beforeAll(async () => {
  server = await openTestApp({ TABBAT_RATE_LIMIT: 'off' })
  url = await server.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => server.close())

/** What is still in use after everything else was collected. */
function readHeapMb(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed / 1_000_000
}

describe('a credential', () => {
  it('is cached once, whatever white space surrounds it', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ask = async (authorization: string) => {
      const asked = request(`${url}/api/v2/sme-data/list`, { agent, headers: { authorization } }).end()
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      response.resume()
      await once(response, 'end')
      return response.statusCode
    }
    const key = await server.createKey()
    expect([await ask(SANDBOX_KEY), await ask(key)]).toEqual([200, 200])
    const before = readHeapMb()
    for (let spaces = 4000; spaces < 7000; spaces++)
      expect(await ask(`Bearer${' '.repeat(spaces)}${spaces % 2 ? key : SANDBOX_KEY}`)).toBe(200)
    // Cached, they would take 16 MB.
    expect(readHeapMb() - before).toBeLessThan(6)
    agent.destroy()
  })

  it('with an unknown id and one with a wrong secret cannot be told apart by time', async () => {
    const known = (await server.createKey({ mode: 'live' })).slice('tbt_live_'.length, 'tbt_live_'.length + 8)
    const ask = async (key: string) => {
      const { statusCode } = await server.app.inject({
        url: '/api/v2/sme-data/list',
        headers: { authorization: `Bearer ${key}` },
      })
      expect(statusCode).toBe(401)
    }
    const { differ, rounds } = await compareTimes(2000, () => {
      const [unknown, wrong] = [createApiKey('live').text, createApiKey('live', known).text]
      return { one: () => ask(unknown), other: () => ask(wrong) }
    })
    expect(differ, JSON.stringify(rounds)).toBe(false)
  })
})
