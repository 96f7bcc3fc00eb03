import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'

let server: TestApp
let port: number

beforeAll(async () => {
  server = await openTestApp()
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  port = (server.app.server.address() as AddressInfo).port
})
afterAll(() => server.close())

/** Sends bytes as they are and reads until the server hangs up. */
async function send(...pieces: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  for (const piece of pieces) socket.write(piece)
  return text(socket)
}

const { authorization } = bearer()
const BODY = JSON.stringify({ type: 'DSTV', productCode: 'COMPE36' })
const ADD_ONS = '/api/v2/cable-tv/fetch-tv-add-ons'

const head = (line: string, ...headers: string[]) =>
  `${[`${line} HTTP/1.1`, 'Host: localhost', 'Connection: close', `Authorization: ${authorization}`, ...headers].join('\r\n')}\r\n\r\n`

const chunk = (part: string) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`

describe('a GET with a body', () => {
  it.each(['Content-Type: application/json', 'X-No-Type: 1'])('arrives with a length (%s)', async (type) => {
    const answer = await send(head(`GET ${ADD_ONS}`, type, `Content-Length: ${BODY.length}`) + BODY)
    expect(answer).toMatch(/^HTTP\/1.1 200 /)
    expect(answer).toContain('"product_code":"COMPE36"')
  })

  it.each(['Content-Type: application/json', 'X-No-Type: 1'])('arrives in chunks (%s)', async (type) => {
    const pieces = [chunk(BODY.slice(0, 10)), chunk(BODY.slice(10)), '0\r\n\r\n']
    const answer = await send(head(`GET ${ADD_ONS}`, type, 'Transfer-Encoding: chunked'), ...pieces)
    expect(answer).toMatch(/^HTTP\/1.1 200 /)
    expect(answer).toContain('"product_code":"COMPE36"')
  })

  it('arrives by QUERY in chunks', async () => {
    const answer = await send(
      head(`QUERY ${ADD_ONS}`, 'Transfer-Encoding: chunked'),
      chunk(BODY),
      '0\r\n\r\n',
    )
    expect(answer).toContain('"product_code":"COMPE36"')
  })

  it('may be empty though it is announced as chunked', async () => {
    const answer = await send(
      head(`GET ${ADD_ONS}?type=DSTV&productCode=COMPE36`, 'Transfer-Encoding: chunked'),
      '0\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1.1 200 /)
  })

  it('leaves the connection fit for the next request', async () => {
    const keep = head(`GET ${ADD_ONS}`, `Content-Length: ${BODY.length}`).replace(
      'Connection: close',
      'Connection: keep-alive',
    )
    const answer = await send(keep + BODY + keep + BODY + head('GET /health/live'))
    expect(answer.match(/HTTP\/1.1 200/g)).toHaveLength(3)
  })

  it('is ignored where no input is wanted', async () => {
    const answer = await send(`${head('GET /api/v2/sme-data/list', 'Content-Length: 3')}{{{`)
    expect(answer).toMatch(/^HTTP\/1.1 200 /)
  })
})

describe('a body that is too large', () => {
  it('is refused by its length, before it is sent', async () => {
    const answer = await send(head('POST /api/v2/kyc/verify-nin', 'Content-Length: 1000000'))
    expect(answer).toMatch(/^HTTP\/1.1 413 /)
    expect(answer).toContain('"code":"body_too_large"')
    expect(answer.toLowerCase()).toContain('connection: close')
  })

  it('is refused in chunks, as soon as there is too much', async () => {
    const answer = await send(
      head(`GET ${ADD_ONS}`, 'Transfer-Encoding: chunked'),
      chunk('x'.repeat(16_000)),
      chunk('x'.repeat(1_000)),
    )
    expect(answer).toMatch(/^HTTP\/1.1 413 /)
  })
})

describe('a caller without a key', () => {
  it('is refused before the body was sent', async () => {
    const stranger = head('POST /api/v2/kyc/verify-nin', 'Content-Length: 50').replace(authorization, 'none')
    expect(await send(stranger)).toMatch(/^HTTP\/1.1 401 /)
  })
})

describe('bytes that are not HTTP', () => {
  it.each([
    ['nonsense', 'NONSENSE\r\n\r\n', 400, 'malformed_request'],
    ['an unknown method', 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'malformed_request'],
    [
      'two lengths',
      head('POST /api/v2/kyc/verify-nin', 'Content-Length: 1', 'Content-Length: 2'),
      400,
      'malformed_request',
    ],
    [
      'a length and chunks',
      head('POST /api/v2/kyc/verify-nin', 'Content-Length: 1', 'Transfer-Encoding: chunked'),
      400,
      'malformed_request',
    ],
    [
      'headers above 8 KiB',
      head('GET /health/live', `X-Long: ${'x'.repeat(9000)}`),
      431,
      'headers_too_large',
    ],
  ])('%s gets an answer in our shape', async (_what, bytes, status, code) => {
    const answer = await send(bytes)
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    const body = JSON.parse(answer.slice(answer.indexOf('{')))
    expect(body).toMatchObject({ success: false, code })
    expect(answer.toLowerCase()).toContain(`x-request-id: ${body.request_id}`)
  })

  it('a body that breaks off ends without a response, and the server goes on', async () => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.end(`${head('POST /api/v2/kyc/verify-nin', 'Content-Length: 50')}{"nin"`)
    await text(socket)
    const next = await send(head('GET /health/live'))
    expect(next).toMatch(/^HTTP\/1.1 200 /)
  })
})

it('serves fetch, which cannot send a body with GET', async () => {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: { ...bearer(), 'content-type': 'application/json' },
    body: JSON.stringify({ nin: '12345678901', phone: PHONE }),
  })
  expect(answer.status).toBe(200)
  const { data } = (await answer.json()) as { data: { personal_info: { image_url: string } } }
  const picture = await fetch(data.personal_info.image_url)
  expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/svg+xml; charset=utf-8'])
})
