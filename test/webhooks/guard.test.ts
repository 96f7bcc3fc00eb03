import dns from 'node:dns'
import { once } from 'node:events'
import { createServer as createHttpsServer } from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openPost } from '../../src/sources/http.ts'
import { attemptDelivery, createSecret } from '../../src/webhooks/attempt.ts'
import { openWebhookPost } from '../../src/webhooks/webhooks.ts'
import { createCertificate } from '../certificate.ts'
import { answerWith, type Receiver, startReceiver } from './receiver.ts'

let receiver: Receiver
beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(async () => {
  vi.useRealTimers()
  await receiver.close()
})

async function attempt(url: string, allowPrivate = true) {
  const { post, close } = openWebhookPost(allowPrivate)
  const message = { id: 'evt_1', at: Date.now(), body: '{}' }
  const result = await attemptDelivery(post, { url, secrets: [createSecret()] }, message)
  await close()
  return result
}

const portOf = (url: string) => new URL(url).port

describe('addresses', () => {
  it.each([
    'http://127.0.0.1',
    'http://localhost',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://0x7f.1',
    'http://2130706433',
    'http://10.0.0.1',
    'http://192.168.1.1',
    'http://172.16.0.1',
    'http://169.254.169.254',
    'http://100.64.0.1',
    'http://[fe80::1]',
    'http://[fd00::1]',
    'http://0.0.0.0',
  ])('%s is refused', async (origin) => {
    expect(await attempt(`${origin}:${portOf(receiver.url)}/`, false)).toMatchObject({
      ...{ status: undefined, problem: 'private_address' },
    })
    expect(receiver.received).toEqual([])
  })

  it('of plain http are refused, also if the endpoint was created while the setting allowed them', async () => {
    const refused = { status: undefined, problem: 'plain_http' }
    expect(await attempt('http://192.0.2.1/', false)).toMatchObject(refused)
    expect(await attempt('http://shop.example/', false)).toMatchObject(refused)
  })

  it('are allowed where the setting allows them', async () => {
    expect(await attempt(receiver.url)).toMatchObject({ status: 200, problem: undefined })
  })

  describe('of a name that resolves to another address at each question (DNS rebinding)', () => {
    const { lookup } = dns
    let questions = 0
    beforeEach(() => {
      questions = 0
      const rebinding = ((_host: string, options: dns.LookupOptions, done: (...args: unknown[]) => void) => {
        questions += 1
        const address = questions === 1 ? '127.0.0.1' : '203.0.113.7'
        if (options.all) done(null, [{ address, family: 4 }])
        else done(null, address, 4)
      }) as typeof dns.lookup
      dns.lookup = rebinding
      syncBuiltinESMExports()
    })
    afterEach(() => {
      dns.lookup = lookup
      syncBuiltinESMExports()
    })

    it('are checked when the connection is made', async () => {
      const host = `rebind.example:${portOf(receiver.url)}`
      expect(await attempt(`https://${host}/`, false)).toMatchObject({ problem: 'private_address' })
      expect(questions).toBe(1)
      expect(receiver.received).toEqual([])
      questions = 0
      expect(await attempt(`http://${host}/`)).toMatchObject({ status: 200 })
    })
  })
})

describe('a response', () => {
  it.each([301, 302, 307, 308])('with the redirect %i is a failure and is not followed', async (status) => {
    receiver.answer = answerWith(status, { location: receiver.url })
    expect(await attempt(receiver.url)).toMatchObject({ status, problem: 'redirected' })
    expect(receiver.received).toHaveLength(1)
  })

  it.each([200, 201, 202, 204, 299])('with status %i is a success', async (status) => {
    receiver.answer = answerWith(status)
    expect(await attempt(receiver.url)).toMatchObject({ status, problem: undefined })
  })

  it.each([400, 401, 404, 429, 500, 503])('with status %i is a failure', async (status) => {
    receiver.answer = answerWith(status)
    expect(await attempt(receiver.url)).toMatchObject({ status, problem: 'status' })
  })

  it('is read up to 64 KiB, and then the connection is closed', async () => {
    // The time limit never ends it.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let isClosed: Promise<unknown> | undefined
    receiver.answer = (_request, response) => {
      isClosed = once(response, 'close')
      // It does not end: who waits for more than this waits in vain.
      response.writeHead(200).write(Buffer.alloc(64 * 1024 + 1))
    }
    expect(await attempt(receiver.url)).toMatchObject({ status: 200, problem: undefined })
    await isClosed
  })

  it('that breaks off after its status counts by its status', async () => {
    receiver.answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half')
      setImmediate(() => response.destroy())
    }
    expect(await attempt(receiver.url)).toMatchObject({ status: 200, problem: undefined })
  })
})

describe('no response', () => {
  it('is a failure when the port is closed', async () => {
    const { url } = receiver
    await receiver.close()
    expect(await attempt(url)).toMatchObject({ status: undefined, problem: 'no_connection' })
    receiver = await startReceiver()
  })

  it('is a failure when the receiver takes too long', async () => {
    const message = { id: 'evt_1', at: Date.now(), body: '{}' }
    const options = { allowPrivate: true, timeoutMs: 200, maxReplyBytes: 9, maxRetryAfterMs: 1 }
    const { post, close } = openPost(options)
    receiver.answer = () => {}
    const result = await attemptDelivery(post, { url: receiver.url, secrets: [createSecret()] }, message)
    expect(result).toMatchObject({ status: undefined, problem: 'too_slow' })
    await close()
  })

  it('is a failure when the receiver closes the connection', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.destroy()).on('error', () => {}))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    expect(await attempt(url)).toMatchObject({ status: undefined, problem: 'cut_off' })
    server.close()
  })

  it('is a failure when the certificate is not valid', async () => {
    const { cert, key } = createCertificate()
    const server = createHttpsServer({ cert, key }, (_request, response) => response.end())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const url = `https://localhost:${(server.address() as AddressInfo).port}/`
    expect(await attempt(url)).toMatchObject({ status: undefined, problem: 'bad_certificate' })
    server.close()
  })
})
