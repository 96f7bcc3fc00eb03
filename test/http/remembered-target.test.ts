import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../app.ts'
import { AUTHORIZATION, open } from './raw.ts'

/** A look-up that was made before is answered without routing. The head must be that of HEAD, which is always routed. */
const TARGETS = [
  '/api/v2/internet/data/smile/lookup',
  '/api/v2/sme-data/list',
  '/api/v2/cable-tv/fetch-tv-add-ons?type=DSTV&productCode=COMPE36',
]

let server: TestApp
beforeAll(async () => {
  server = await openTestApp({ TABBAT_RATE_LIMIT: '1000' })
  await server.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => server.close())

/** The head of the response, without what differs from request to request. */
async function readHead(line: string, ...headers: string[]): Promise<{ head: string; body: string }> {
  const socket = await open(server)
  const common = ['Host: localhost', `Authorization: ${AUTHORIZATION}`, 'X-Request-Id: remembered-target']
  socket.end(`${[line, ...common, ...headers].join('\r\n')}\r\n\r\n`)
  let received = ''
  for await (const piece of socket) received += piece
  const [head = '', body = ''] = received.split(/(?<=\r\n)\r\n/, 2)
  return { head: head.replace(/r=\d+;t=\d+/, 'r=;t=').replace(/Date: [^\r]+GMT/, 'Date:'), body }
}

describe.each([
  ['HTTP/1.1', []],
  ['HTTP/1.1', ['Connection: close']],
  ['HTTP/1.0', []],
  ['HTTP/1.0', ['Connection: keep-alive']],
] as const)('%s %j', (version, headers) => {
  it.each(TARGETS)('GET %s has the head of HEAD, also when it is asked again', async (target) => {
    const expected = await readHead(`HEAD ${target} ${version}`, ...headers)
    expect(expected).toMatchObject({ head: expect.stringContaining('etag: "'), body: '' })
    expect(expected.head).toContain('\r\nDate:\r\n')
    for (const _ of ['routed', 'remembered', 'remembered']) {
      const { head, body } = await readHead(`GET ${target} ${version}`, ...headers)
      expect(head).toBe(expected.head)
      expect(head).toContain(`content-length: ${Buffer.byteLength(body)}\r\n`)
    }
  })
})

it.each(['plain', 'é', 'ẹ́₦', '😀'])('a body of %j arrives as UTF-8', async (body) => {
  const path = `/test/${Buffer.from(body).toString('hex')}`
  const answer = () => ({ status: 200, headers: ['x-test', '1'], body })
  server.app.route({ methods: ['GET'], path, operation: 'test', answer })
  const answered = await readHead(`GET ${path} HTTP/1.1`)
  expect(answered.body).toBe(body)
  expect(answered.head).toContain(`x-test: 1\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`)
})

describe('a target that was answered before', () => {
  const target = TARGETS[2] as string
  const ask = (method: string, headers: Record<string, string>, payload?: string) =>
    server.app.inject({ method: method as 'GET', url: target, headers, ...(payload ? { payload } : {}) })
  const authorization = AUTHORIZATION

  it('still needs a key with the scope', async () => {
    await ask('GET', { authorization })
    expect((await ask('GET', {})).statusCode).toBe(401)
    const key = await server.createKey({ scopes: ['kyc:nin'] })
    expect((await ask('GET', { authorization: key })).statusCode).toBe(403)
  })

  it('still compares a body with the query', async () => {
    await ask('GET', { authorization })
    const same = JSON.stringify({ type: 'dstv', productCode: 'COMPE36' })
    const answer = await ask('GET', { authorization }, same)
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store'])
    const other = JSON.stringify({ type: 'GOTV', productCode: 'COMPE36' })
    expect((await ask('GET', { authorization }, other)).json().code).toBe('conflicting_input')
  })

  it('still takes QUERY and refuses other methods', async () => {
    await ask('GET', { authorization })
    expect((await ask('QUERY', { authorization })).statusCode).toBe(200)
    const refused = await ask('DELETE', { authorization })
    expect([refused.statusCode, refused.headers.allow]).toEqual([405, 'GET, HEAD, QUERY'])
  })
})
