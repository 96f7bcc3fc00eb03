import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { buildAdminServer } from '../../src/admin/server.ts'
import type { App } from '../../src/http/app.ts'
import { readJsonBody } from '../../src/http/body.ts'
import { toJsonReply } from '../../src/http/exchange.ts'
import { openTestApp, type TestApp } from '../app.ts'

/** Both listeners, with the same routes for the tests. */
let api: TestApp
let admin: App
beforeAll(async () => {
  api = await openTestApp()
  admin = buildAdminServer(api.context, api.app)
  for (const app of [api.app, admin]) {
    addRoutes(app)
    await app.listen({ host: '127.0.0.1', port: 0 })
  }
})
afterAll(async () => {
  for (const { server } of [api.app, admin]) server.closeAllConnections()
  await admin.close()
  await api.close()
})
beforeEach(() => {
  api.context.lifecycle.stopping = false
})

let stream = Promise.withResolvers<void>()

function addRoutes(app: App): void {
  const route = (path: string, answer: Parameters<App['route']>[0]['answer']) =>
    app.route({ methods: ['GET', 'POST'], path, operation: 'test', answer })
  for (const [name, value] of [
    ['newline', 'a\nb'],
    ['character', 'ẹ́'],
  ] as const) {
    const reply = { status: 200, headers: ['x-bad', value], body: '{}' }
    route(`/test/${name}`, () => reply)
    route(`/test/${name}/async`, async () => reply)
    route(`/test/${name}/stream`, async () => ({ ...reply, body: toPieces() }))
  }
  route('/test/early', async ({ responseHeaders }) => {
    responseHeaders.push('x-bad', 'a\nb')
    return toJsonReply({})
  })
  route('/test/empty', () => ({ status: 204, headers: [], body: '' }))
  route('/test/echo', async (exchange) => toJsonReply({ read: await readJsonBody(exchange) }))
  route('/test/stream', () => ({ status: 200, headers: [], body: toPieces() }))
}

async function* toPieces(): AsyncIterable<string> {
  yield 'first'
  await stream.promise
  yield 'last'
}

const LISTENERS = { api: () => api.app, admin: () => admin } as const

describe.each(['api', 'admin'] as const)('the %s listener', (name) => {
  const open = (): Socket =>
    connect((LISTENERS[name]().server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
  const send = async (line: string, headers: readonly string[], body: string | Buffer = '') => {
    const socket = open()
    socket.write(`${[line, ...headers].join('\r\n')}\r\n\r\n`)
    socket.write(body)
    return text(socket)
  }
  const ask = (path: string, ...headers: string[]) =>
    send(`GET ${path} HTTP/1.1`, ['Host: localhost', 'Connection: close', ...headers])
  const post = (body: string | Buffer, ...headers: string[]) =>
    send(
      'POST /test/echo HTTP/1.1',
      ['Host: localhost', 'Connection: close', `Content-Length: ${Buffer.byteLength(body)}`, ...headers],
      body,
    )
  const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as object

  describe('500', () => {
    const paths = ['newline', 'character'].flatMap((each) => [
      `/test/${each}`,
      `/test/${each}/async`,
      `/test/${each}/stream`,
    ])
    it.each([...paths, '/test/early'])('a header that cannot be sent (%s)', async (path) => {
      for (const stopping of [false, true]) {
        api.context.lifecycle.stopping = stopping
        const answer = await ask(path)
        expect(answer).toMatch(/^HTTP\/1.1 500 /)
        expect(answer).not.toContain('x-bad')
        expect(bodyOf(answer)).toMatchObject({ success: false, code: 'internal_error' })
      }
    })
  })

  describe('400', () => {
    it.each([
      ['without Host', []],
      ['with two Host headers', ['Host: localhost', 'host: localhost']],
      ['with two different Host headers', ['Host: localhost', 'HOST: 127.0.0.1']],
    ])('HTTP/1.1 %s', async (_what, headers) => {
      const answer = await send('GET /health/live HTTP/1.1', headers)
      expect(answer).toMatch(/^HTTP\/1.1 400 /)
      expect(answer.toLowerCase()).toContain('connection: close')
      expect(bodyOf(answer)).toMatchObject({ success: false, code: 'malformed_request' })
    })

    it('HTTP/1.0 with two Host headers', async () => {
      const hosts = ['Host: localhost', 'Host: localhost']
      expect(await send('GET /health/live HTTP/1.0', hosts)).toMatch(/^HTTP\/1.1 400 /)
    })
  })

  it('HTTP/1.0 needs no Host', async () => {
    // The console answers for its own names only.
    const expected = name === 'api' ? /^HTTP\/1.1 200 / : /^HTTP\/1.1 421 /
    expect(await send('GET /health/live HTTP/1.0', [])).toMatch(expected)
  })

  describe('415', () => {
    it.each(['gzip', 'br', 'identity, gzip', 'x'])('Content-Encoding: %s', async (encoding) => {
      const answer = await post('{}', `Content-Encoding: ${encoding}`)
      expect(answer).toMatch(/^HTTP\/1.1 415 /)
      expect(answer).toContain('accept-encoding: identity')
      expect(bodyOf(answer)).toMatchObject({ code: 'unsupported_media_type' })
    })
  })

  describe('200', () => {
    it.each(['identity', 'Identity', ''])('Content-Encoding: %s', async (encoding) => {
      expect(bodyOf(await post('{"a":1}', `Content-Encoding: ${encoding}`))).toEqual({ read: { a: 1 } })
    })

    it('a byte order mark before the JSON is skipped', async () => {
      expect(bodyOf(await post('\uFEFF{"a":"\uFEFFb"}'))).toEqual({ read: { a: '\uFEFFb' } })
    })
  })

  it('204 carries no length, and the connection goes on', async () => {
    const socket = open()
    const head = 'HTTP/1.1\r\nHost: localhost\r\n'
    socket.write(`GET /test/empty ${head}\r\nGET /health/live ${head}Connection: close\r\n\r\n`)
    const answers = await text(socket)
    const [empty = '', next] = answers.split(/(?=HTTP\/1\.1 200)/)
    expect(empty).toMatch(/^HTTP\/1.1 204 /)
    expect(empty.toLowerCase()).not.toMatch(/content-length|transfer-encoding/)
    expect(next).toContain('live')
  })

  describe('Expect: 100-continue', () => {
    const expectHead = (length: number, ...headers: string[]) =>
      `${['POST /test/echo HTTP/1.1', 'Host: localhost', 'Expect: 100-continue', `Content-Length: ${length}`, ...headers].join('\r\n')}\r\n\r\n`

    it.each([
      ['413 for a body over the limit', 1_000_000, [], 413],
      ['415 for a compressed body', 10, ['Content-Encoding: gzip'], 415],
    ] as const)(
      '%s, without 100 Continue, and the connection is closed',
      async (_what, length, headers, status) => {
        const socket = open()
        socket.write(expectHead(length, ...headers))
        const answer = await text(socket)
        expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
        expect(answer).not.toContain('100 Continue')
        expect(answer.toLowerCase()).toContain('connection: close')
      },
    )

    it('100 Continue, then 200, on a connection that goes on', async () => {
      const socket = open()
      socket.write(expectHead(2))
      expect(String((await once(socket, 'data'))[0])).toBe('HTTP/1.1 100 Continue\r\n\r\n')
      socket.write('{}GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
      const answers = await text(socket)
      expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
    })

    it.each(['', 'Content-Length: 0\r\n'])('without a body (%j), the connection goes on', async (length) => {
      const socket = open()
      const first = `GET /health/live HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n${length}\r\n`
      socket.write(`${first}GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
      const answers = await text(socket)
      expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 200', 'HTTP/1.1 200'])
    })
  })

  describe('a stream while the server stops', () => {
    it('says connection: close when it begins after the signal', async () => {
      stream.resolve()
      api.context.lifecycle.stopping = true
      const socket = open()
      socket.write('GET /test/stream HTTP/1.1\r\nHost: localhost\r\n\r\n')
      const answer = await text(socket)
      expect(answer.toLowerCase()).toContain('connection: close')
      expect(answer).toContain('last')
    })

    it('closes the connection at its end when it began before the signal', async () => {
      stream = Promise.withResolvers()
      const socket = open()
      socket.write('GET /test/stream HTTP/1.1\r\nHost: localhost\r\n\r\n')
      await once(socket, 'readable')
      api.context.lifecycle.stopping = true
      stream.resolve()
      expect(await text(socket)).toMatch(/last\r\n0\r\n\r\n$/)
    })
  })
})
