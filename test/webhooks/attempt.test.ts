import { createHmac, createSecretKey } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { BrokenSeal } from '../../src/crypto/seal.ts'
import type { Post } from '../../src/sources/http.ts'
import { SourceError } from '../../src/sources/source.ts'
import { VERSION } from '../../src/version.ts'
import {
  attemptDelivery,
  createSecret,
  openSecret,
  sealSecret,
  toSignedHeaders,
} from '../../src/webhooks/attempt.ts'
import { toSecrets } from '../../src/webhooks/delivery.ts'

const KEY = createSecretKey(Buffer.alloc(32, 1))
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const MESSAGE = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at: 1_614_265_330_999, body: '{"test": 2432232314}' }

describe('the signature of a message', () => {
  it('is that of the example of Standard Webhooks, with the time in whole seconds', () => {
    expect(toSignedHeaders(MESSAGE, [SECRET])).toEqual({
      'webhook-id': MESSAGE.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    })
  })

  it('is one for each secret, in their order', () => {
    const [one, other] = [createSecret(), createSecret()]
    const sign = (secret: string) => toSignedHeaders(MESSAGE, [secret])['webhook-signature']
    expect(toSignedHeaders(MESSAGE, [one, other])['webhook-signature']).toBe(`${sign(one)} ${sign(other)}`)
  })

  it.each([
    ['another id', { ...MESSAGE, id: 'msg_other' }],
    ['another second', { ...MESSAGE, at: MESSAGE.at + 1 }],
    ['another body', { ...MESSAGE, body: '{"test": 2432232315}' }],
  ])('differs for %s', (_what, message) => {
    expect(toSignedHeaders(message, [SECRET])['webhook-signature']).not.toBe(
      toSignedHeaders(MESSAGE, [SECRET])['webhook-signature'],
    )
  })
})

describe('a secret', () => {
  it('is 32 random bytes, all of which are the key', () => {
    const secret = createSecret()
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(createSecret()).not.toBe(secret)
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
    const signature = createHmac('sha256', key).update(`${MESSAGE.id}.1614265330.${MESSAGE.body}`)
    expect(toSignedHeaders(MESSAGE, [secret])['webhook-signature']).toBe(`v1,${signature.digest('base64')}`)
  })

  it('is sealed for its endpoint: in the row of another it cannot be opened', () => {
    const sealed = sealSecret(KEY, 'whk_1', SECRET)
    expect(Buffer.from(sealed).includes(SECRET)).toBe(false)
    expect(openSecret(KEY, 'whk_1', sealed)).toBe(SECRET)
    expect(() => openSecret(KEY, 'whk_2', sealed)).toThrow(BrokenSeal)
    expect(() => openSecret(createSecretKey(Buffer.alloc(32, 2)), 'whk_1', sealed)).toThrow(BrokenSeal)
  })

  it('before the last roll signs as the second, and no longer when its time is over', () => {
    const [secret, previousSecret] = ['new', 'old'].map((text) => sealSecret(KEY, 'whk_1', text)) as [
      Uint8Array,
      Uint8Array,
    ]
    const rolled = { id: 'whk_1', secret, previousSecret, previousUntil: 1000 }
    expect(toSecrets(KEY, rolled, 999)).toEqual(['new', 'old'])
    expect(toSecrets(KEY, rolled, 1000)).toEqual(['new'])
    const never = { id: 'whk_1', secret, previousSecret: undefined, previousUntil: undefined }
    expect(toSecrets(KEY, never, 0)).toEqual(['new'])
  })
})

describe('an attempt', () => {
  const attempt = (post: Post, signal?: AbortSignal) =>
    attemptDelivery(post, { url: 'https://shop.example/hooks', secrets: [SECRET] }, MESSAGE, signal)
  const answer = (status: number, retryAfterMs?: number) => async () => ({ status, retryAfterMs })

  it('sends the body with its signature, and may be broken off', async () => {
    const { signal } = new AbortController()
    const sent: unknown[] = []
    await attempt(async (request) => {
      sent.push(request)
      return { status: 200, retryAfterMs: undefined }
    }, signal)
    expect(sent).toEqual([
      {
        url: 'https://shop.example/hooks',
        body: MESSAGE.body,
        signal,
        headers: {
          'content-type': 'application/json',
          'user-agent': `Tabbat/${VERSION}`,
          ...toSignedHeaders(MESSAGE, [SECRET]),
        },
      },
    ])
  })

  it.each([
    [199, 'status'],
    [200, undefined],
    [299, undefined],
    [300, 'redirected'],
    [399, 'redirected'],
    [400, 'status'],
    [409, 'status'],
    [410, 'gone'],
    [411, 'status'],
    [500, 'status'],
  ])('that is answered with %i has the problem %s', async (status, problem) => {
    expect(await attempt(answer(status, 7000))).toEqual({
      status,
      problem,
      retryAfterMs: 7000,
      durationMs: expect.any(Number),
    })
  })

  it('without a response has the problem of the connection', async () => {
    const fail = (problem?: 'no_such_host') => () =>
      Promise.reject(new SourceError('webhook', 'unreachable', problem && { problem }))
    const nothing = { status: undefined, retryAfterMs: undefined, durationMs: expect.any(Number) }
    expect(await attempt(fail('no_such_host'))).toEqual({ ...nothing, problem: 'no_such_host' })
    expect(await attempt(fail())).toEqual({ ...nothing, problem: 'cut_off' })
  })

  it('that fails by a fault of the program is no attempt', async () => {
    await expect(attempt(() => Promise.reject(new TypeError('a defect')))).rejects.toThrow('a defect')
  })

  it('measures how long it took, in whole ms', async () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValueOnce(1000).mockReturnValueOnce(1234.6)
    expect((await attempt(answer(200))).durationMs).toBe(235)
    clock.mockRestore()
  })
})
