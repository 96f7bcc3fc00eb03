import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type Fetch, openFetch } from '../../src/sources/http.ts'
import { PrivateAddress } from '../../src/sources/public-address.ts'

/** The requests of the library for single sign-on. The provider names their addresses. */
const opened: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

function open(trusted: boolean): (url: string) => ReturnType<Fetch> {
  const { send, close } = openFetch(trusted)
  opened.push(close)
  const signal = AbortSignal.timeout(60_000)
  return (url) => send(url, { method: 'GET', headers: {}, body: null, signal })
}

async function serve(answer: RequestListener): Promise<string> {
  const server: Server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.push(async () => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('a request to an address that the provider of single sign-on names', () => {
  it.each([
    'https://127.0.0.1/',
    'https://localhost/',
    'https://10.0.0.1/',
    'https://169.254.169.254/latest/meta-data',
    'https://[fd00::1]/',
    'https://2130706433/',
  ])('is refused if it is private: %s', async (url) => {
    await expect(open(false)(url)).rejects.toThrow(PrivateAddress)
  })

  it.each([true, false])(
    'is refused without TLS on another machine, whether it is trusted: %s',
    async (trusted) => {
      await expect(open(trusted)('http://192.0.2.1/')).rejects.toThrow('only https is allowed')
    },
  )

  it('does not follow a redirect', async () => {
    const asked: string[] = []
    const url = await serve(({ url: path = '' }, response) => {
      asked.push(path)
      response.writeHead(302, { location: '/elsewhere' }).end()
    })
    expect((await open(true)(`${url}/here`)).status).toBe(302)
    expect(asked).toEqual(['/here'])
  })

  it('reads no more than 1 MiB', async () => {
    const url = await serve((_request, response) => void response.end(Buffer.alloc(1024 * 1024 + 1)))
    await expect(open(true)(url)).rejects.toThrow('the reply is too large')
  })
})
