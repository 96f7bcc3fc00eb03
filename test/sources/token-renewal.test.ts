import { beforeEach, describe, expect, it } from 'vitest'
import type { HttpReply, HttpRequest } from '../../src/sources/source.ts'
import { SourceError } from '../../src/sources/source.ts'
import {
  readLifetimeMs,
  readTokenText,
  requireTokenReply,
  type Token,
  withToken,
} from '../../src/sources/token.ts'

const request: HttpRequest = { method: 'GET', path: '/', headers: { 'x-app': 'app' } }
const newCall = () => ({ signal: AbortSignal.timeout(60_000) })

/** A vendor that numbers its tokens and accepts those from `valid` on. */
let issued: number
let valid: number
let time: number
let usedTokens: string[]
let lifetimeMs: number | undefined

beforeEach(() => {
  issued = 0
  valid = 1
  time = Date.parse('2026-01-01T00:00:00Z')
  usedTokens = []
  lifetimeMs = 7_200_000
})

const send = async ({ headers }: HttpRequest): Promise<HttpReply> => {
  const token = headers?.authorization ?? ''
  usedTokens.push(token)
  return { status: Number(token.replace('Bearer token-', '')) >= valid ? 200 : 401, body: {} }
}
const issueToken = async (): Promise<Token> => {
  issued += 1
  return { text: `token-${issued}`, lifetimeMs }
}
const open = (fetchToken = issueToken) =>
  withToken(send, { source: 'vendor', fetchToken, now: () => new Date(time), ageNow: () => time })

describe('a token', () => {
  it('is fetched once, and sent with the other headers', async () => {
    const sendWithToken = open()
    for (let round = 0; round < 3; round += 1)
      expect((await sendWithToken(request, newCall())).status).toBe(200)
    expect([issued, usedTokens]).toEqual([1, ['Bearer token-1', 'Bearer token-1', 'Bearer token-1']])
  })

  it('is fetched once for all waiting requests', async () => {
    const sendWithToken = open()
    await Promise.all(Array.from({ length: 50 }, () => sendWithToken(request, newCall())))
    expect([issued, usedTokens.length]).toEqual([1, 50])
  })

  it('is replaced shortly before it expires', async () => {
    const sendWithToken = open()
    await sendWithToken(request, newCall())
    time += 7_200_000 - 61_000
    await sendWithToken(request, newCall())
    expect(issued).toBe(1)
    time += 2000
    await sendWithToken(request, newCall())
    expect(issued).toBe(2)
  })

  it.each([
    [undefined, 500_000, 600_000],
    [20_000, 9000, 11_000],
  ])('with a lifetime of %s ms is kept for a while', async (ms, before, after) => {
    lifetimeMs = ms
    const sendWithToken = open()
    const start = time
    for (const passed of [0, before]) {
      time = start + passed
      await sendWithToken(request, newCall())
    }
    expect(issued).toBe(1)
    time = start + after
    await sendWithToken(request, newCall())
    expect(issued).toBe(2)
  })
})

describe('a token that is refused', () => {
  it('is replaced, and the request is repeated once', async () => {
    const sendWithToken = open()
    await sendWithToken(request, newCall())
    valid = 2
    expect((await sendWithToken(request, newCall())).status).toBe(200)
    expect(usedTokens).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2'])
  })

  it('is replaced once for all requests', async () => {
    const sendWithToken = open()
    await sendWithToken(request, newCall())
    valid = 2
    const replies = await Promise.all(Array.from({ length: 20 }, () => sendWithToken(request, newCall())))
    expect(replies.every(({ status }) => status === 200)).toBe(true)
    expect(issued).toBe(2)
  })

  it('twice ends the request with 401', async () => {
    valid = 1000
    expect((await open()(request, newCall())).status).toBe(401)
    expect([issued, usedTokens.length]).toEqual([2, 2])
  })
})

describe('without a token', () => {
  it('no request is sent', async () => {
    const sendWithToken = open(async () => {
      throw new SourceError('vendor', 'timeout', { problem: 'too_slow' })
    })
    await expect(sendWithToken(request, newCall())).rejects.toMatchObject({
      reason: 'timeout',
      problem: 'too_slow',
      sent: false,
    })
    expect(usedTokens).toEqual([])
  })

  it('the next request tries again', async () => {
    let fails = true
    const sendWithToken = open(async () => {
      if (fails) throw new SourceError('vendor', 'unreachable')
      return issueToken()
    })
    await expect(sendWithToken(request, newCall())).rejects.toBeInstanceOf(SourceError)
    fails = false
    expect((await sendWithToken(request, newCall())).status).toBe(200)
  })

  it('a bug stays a bug', async () => {
    const sendWithToken = open(async () => {
      throw new TypeError('ours')
    })
    await expect(sendWithToken(request, newCall())).rejects.toThrow(TypeError)
  })

  it('a call that is aborted fails at once; the others still get the token', async () => {
    const { promise, resolve } = Promise.withResolvers<Token>()
    const sendWithToken = open(() => promise)
    const controller = new AbortController()
    const first = sendWithToken(request, controller)
    const second = sendWithToken(request, newCall())
    controller.abort()
    await expect(first).rejects.toMatchObject({ reason: 'timeout', sent: false })
    resolve({ text: 'token-1' })
    expect((await second).status).toBe(200)
  })
})

it.each([
  [7200, 7_200_000],
  ['7200', 7_200_000],
  ['7200 secs', 7_200_000],
  ['60 seconds', 60_000],
  [0, undefined],
  ['2 hours', undefined],
  [null, undefined],
  [undefined, undefined],
])('reads the lifetime %j as %s ms', (value, ms) => {
  expect(readLifetimeMs(value)).toBe(ms)
})

it.each([undefined, '', 'two words', 'line\nbreak', 7, 'x'.repeat(8193)])(
  'rejects %j as a token',
  (value) => {
    expect(() => readTokenText('vendor', value)).toThrow('bad_response')
  },
)

it.each([
  [400, 'refused'],
  [401, 'refused'],
  [404, 'bad_response'],
  [422, 'refused'],
  [429, 'throttled'],
  [500, 'unreachable'],
])('reports %d from a token endpoint as %s', (status, reason) => {
  expect(() => requireTokenReply('vendor', { status, body: {} })).toThrow(reason)
})
