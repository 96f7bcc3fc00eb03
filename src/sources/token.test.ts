import { beforeEach, describe, expect, it } from 'vitest'
import type { HttpReply, HttpRequest } from './source.ts'
import { SourceError } from './source.ts'
import { readLifetimeMs, readTokenText, requireTokenReply, type Token, withToken } from './token.ts'

const question: HttpRequest = { method: 'GET', path: '/', headers: { 'x-app': 'app' } }
const newCall = () => ({ signal: AbortSignal.timeout(5000) })

/** A vendor that numbers its tokens and takes only those from `valid` on. */
let given: number
let valid: number
let time: number
let asked: string[]
let lifetimeMs: number | undefined

beforeEach(() => {
  given = 0
  valid = 1
  time = Date.parse('2026-01-01T00:00:00Z')
  asked = []
  lifetimeMs = 7_200_000
})

const send = async ({ headers }: HttpRequest): Promise<HttpReply> => {
  const token = headers?.authorization ?? ''
  asked.push(token)
  return { status: Number(token.replace('Bearer token-', '')) >= valid ? 200 : 401, body: {} }
}
const giveToken = async (): Promise<Token> => {
  given += 1
  return { text: `token-${given}`, lifetimeMs }
}
const open = (fetchToken = giveToken) =>
  withToken(send, { source: 'vendor', fetchToken, now: () => new Date(time), ageNow: () => time })

describe('a token', () => {
  it('is fetched once, and sent along with the other headers', async () => {
    const ask = open()
    for (let round = 0; round < 3; round += 1) expect((await ask(question, newCall())).status).toBe(200)
    expect([given, asked]).toEqual([1, ['Bearer token-1', 'Bearer token-1', 'Bearer token-1']])
  })

  it('is fetched once for all who wait for it', async () => {
    const ask = open()
    await Promise.all(Array.from({ length: 50 }, () => ask(question, newCall())))
    expect([given, asked.length]).toEqual([1, 50])
  })

  it('is replaced shortly before it expires', async () => {
    const ask = open()
    await ask(question, newCall())
    time += 7_200_000 - 61_000
    await ask(question, newCall())
    expect(given).toBe(1)
    time += 2000
    await ask(question, newCall())
    expect(given).toBe(2)
  })

  it.each([
    [undefined, 500_000, 600_000],
    [20_000, 9000, 11_000],
  ])('that lives %s ms is kept for a while', async (ms, before, after) => {
    lifetimeMs = ms
    const ask = open()
    const start = time
    for (const passed of [0, before]) {
      time = start + passed
      await ask(question, newCall())
    }
    expect(given).toBe(1)
    time = start + after
    await ask(question, newCall())
    expect(given).toBe(2)
  })
})

describe('a token that is turned away', () => {
  it('is replaced, and the question asked once more', async () => {
    const ask = open()
    await ask(question, newCall())
    valid = 2
    expect((await ask(question, newCall())).status).toBe(200)
    expect(asked).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2'])
  })

  it('is replaced once for all who met it', async () => {
    const ask = open()
    await ask(question, newCall())
    valid = 2
    const replies = await Promise.all(Array.from({ length: 20 }, () => ask(question, newCall())))
    expect(replies.every(({ status }) => status === 200)).toBe(true)
    expect(given).toBe(2)
  })

  it('twice is the answer', async () => {
    valid = 1000
    expect((await open()(question, newCall())).status).toBe(401)
    expect([given, asked.length]).toEqual([2, 2])
  })
})

describe('without a token', () => {
  it('nothing is asked, and nothing was sent', async () => {
    const ask = open(async () => {
      throw new SourceError('vendor', 'timeout', { trouble: 'too_slow' })
    })
    await expect(ask(question, newCall())).rejects.toMatchObject({
      reason: 'timeout',
      trouble: 'too_slow',
      sent: false,
    })
    expect(asked).toEqual([])
  })

  it('the next question tries again', async () => {
    let fails = true
    const ask = open(async () => {
      if (fails) throw new SourceError('vendor', 'unreachable')
      return giveToken()
    })
    await expect(ask(question, newCall())).rejects.toBeInstanceOf(SourceError)
    fails = false
    expect((await ask(question, newCall())).status).toBe(200)
  })

  it('a bug stays a bug', async () => {
    const ask = open(async () => {
      throw new TypeError('ours')
    })
    await expect(ask(question, newCall())).rejects.toThrow(TypeError)
  })

  it('a call that is aborted fails at once; the others still get the token', async () => {
    const { promise, resolve } = Promise.withResolvers<Token>()
    const ask = open(() => promise)
    const impatient = new AbortController()
    const first = ask(question, impatient)
    const second = ask(question, newCall())
    impatient.abort()
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
  'takes %j for no token',
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
])('calls %d from a token endpoint %s', (status, reason) => {
  expect(() => requireTokenReply('vendor', { status, body: {} })).toThrow(reason)
})
