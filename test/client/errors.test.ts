import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TabbatError } from '../../packages/client/src/index.ts'
import { createTabbat } from '../../packages/client/src/index.ts'
import type { Fault } from './flaky-proxy.ts'
import { type ClientServer, errorOf, openClientServer } from './open-server.ts'

/** Values that must not appear in any text of an error, in any spelling. */
const REQUEST = { nin: '70911111111', phone: '+234 809 222 2222', first_name: 'Zubairu', last_name: 'Ox' }
const KEY = 'tbt_test_canary'
const CANARIES = /70911111111|9.?222.?2222|zubairu|\box\b|canary/i

let server: ClientServer
beforeAll(async () => {
  server = await openClientServer()
})
afterAll(() => server.close())

const texts = (error: TabbatError) => [
  error.message,
  String(error),
  error.stack ?? '',
  JSON.stringify(error),
  inspect(error, { depth: null, showHidden: true }),
  error.requestId ?? '',
  JSON.stringify(error.fields ?? {}),
]

const echo = (text: string): Fault => ({
  status: 400,
  headers: { 'x-request-id': text.replace(/[^\w.-]/g, '').slice(0, 60) },
  body: JSON.stringify({
    success: false,
    code: 'validation_failed',
    message: `Bad input: ${text}`,
    retryable: false,
    errors: { nin: [`${text} is wrong`], [text]: ['is unknown'] },
    data: { [text]: text },
  }),
})

describe('an error never quotes the request', () => {
  it.each<[string, Fault | undefined]>([
    ['the server refuses it', undefined],
    ['a proxy echoes the number', echo('709111111110')],
    ['a proxy echoes the phone in another spelling', echo('08092222222')],
    ['a proxy echoes a name', echo('ZUBAIRU')],
    ['a proxy echoes a short name', echo('for Ox only')],
    ['a proxy echoes everything as HTML', { status: 418, body: `<p>${JSON.stringify(REQUEST)} ${KEY}</p>` }],
    ['a proxy puts it into the code', { status: 400, body: '{"code":"zubairu 70911111111"}' }],
    ['the connection breaks', 'reset'],
  ])('when %s', async (_what, fault) => {
    if (fault) server.proxy.fail(fault)
    const client = server.connect({ maxRetries: 0, ...(fault && { key: KEY }) })
    const error = await errorOf(client.verifyNin({ ...REQUEST, nin: `${REQUEST.nin}0` } as never))
    for (const text of texts(error)) expect(text).not.toMatch(CANARIES)
  })

  it('when a header cannot be sent, or the server is not there', async () => {
    const client = server.connect({ key: KEY })
    const odd = { idempotencyKey: `${REQUEST.nin}\n` }
    for (const text of texts(await errorOf(client.verifyNin(REQUEST as never, odd))))
      expect(text).not.toMatch(CANARIES)
    const none = createTabbat({ key: KEY, baseUrl: 'http://127.0.0.1:9', maxRetries: 0 })
    const error = await errorOf(none.verifyNin(REQUEST as never))
    expect(error).toMatchObject({ code: 'network_error', status: 0, retryable: true })
    expect(error.cause).toBeUndefined()
    for (const text of texts(error)) expect(text).not.toMatch(CANARIES)
  })

  it('and the client does not show its key', () => {
    expect(inspect(server.connect({ key: KEY }), { depth: null, showHidden: true })).not.toMatch(CANARIES)
  })
})

it('an error of a verification that began has its reference', async () => {
  const error = await errorOf(
    server.connect({ maxRetries: 0 }).verifyNin({ nin: '00000000503', phone: '08031234567' }),
  )
  expect(error).toMatchObject({
    code: 'source_unavailable',
    reference: expect.stringMatching(/^ver_[0-9a-z]{36}$/),
  })
})

it('an error keeps what helps: the message of the server, its fields and its id', async () => {
  const error = await errorOf(server.connect().verifyNin({ nin: '1', phone: '08031234567' }))
  expect(JSON.parse(JSON.stringify(error))).toEqual({
    name: 'TabbatError',
    code: 'validation_failed',
    status: 422,
    message: 'Some fields are missing or wrong. See errors.',
    retryable: false,
    requestId: error.requestId,
    fields: { nin: [expect.stringContaining('nin must be 11 digits')] },
  })
  expect(error.requestId).toMatch(/^req_/)
})

it('an error about a header names the header', async () => {
  const error = await errorOf(
    server
      .connect()
      .verifyNin({ nin: '12345678901', phone: '08031234567' }, { consentReference: 'not|allowed' }),
  )
  expect(error.fields).toEqual({
    'X-Consent-Reference': [expect.stringContaining('X-Consent-Reference must')],
  })
})
