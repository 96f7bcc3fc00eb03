import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { webhooks } from '../../packages/client/src/index.ts'
import { createSecret, toSignedHeaders } from '../../src/webhooks/attempt.ts'
import { errorOf } from './open-server.ts'

const secret = createSecret()
const other = createSecret()
const body = JSON.stringify({
  type: 'verification.completed',
  timestamp: '2026-11-16T01:01:02.345Z',
  data: { reference: 'ver_1', status: 'VERIFIED', note: 'Ọlá' },
})
const sign = (secrets = [secret], at = Date.now(), text = body) =>
  toSignedHeaders({ id: 'evt_1', at, body: text }, secrets)
const codeOf = async (call: Promise<unknown>) => (await errorOf(call)).code

describe('webhooks.verify', () => {
  it('returns the event of a request that Tabbat signed, as standardwebhooks does', async () => {
    const headers = sign()
    const event = await webhooks.verify(headers, body, secret)
    expect(event).toEqual({ id: 'evt_1', ...(new Webhook(secret).verify(body, headers) as object) })
  })

  it('accepts what standardwebhooks signed', async () => {
    const now = new Date()
    const headers = {
      'Webhook-Id': 'msg_2',
      'Webhook-Timestamp': String(Math.floor(now.getTime() / 1000)),
      'Webhook-Signature': new Webhook(secret).sign('msg_2', now, body),
    }
    expect((await webhooks.verify(headers, body, secret)).id).toBe('msg_2')
  })

  it('takes headers and bodies of every kind', async () => {
    const bytes = new TextEncoder().encode(body)
    for (const headers of [
      new Headers(sign()),
      sign(),
      { ...sign(), 'x-list': ['a', 'b'], 'x-none': undefined },
    ])
      for (const each of [body, bytes, Buffer.from(body), bytes.buffer])
        expect((await webhooks.verify(headers, each, secret)).type).toBe('verification.completed')
  })

  it('accepts one of several signatures and one of several secrets, as after a roll', async () => {
    expect((await webhooks.verify(sign([other, secret]), body, secret)).id).toBe('evt_1')
    expect((await webhooks.verify(sign([secret]), body, [other, secret])).id).toBe('evt_1')
    expect(await codeOf(webhooks.verify(sign([secret]), body, [other]))).toBe('invalid_signature')
  })

  const seconds = (count: number) => Date.now() + count * 1000
  it.each([
    ['another body', () => webhooks.verify(sign(), `${body} `, secret)],
    ['another id', () => webhooks.verify({ ...sign(), 'webhook-id': 'evt_2' }, body, secret)],
    ['another secret', () => webhooks.verify(sign([other]), body, secret)],
    ['an old timestamp', () => webhooks.verify(sign([secret], seconds(-310)), body, secret)],
    ['a timestamp ahead', () => webhooks.verify(sign([secret], seconds(310)), body, secret)],
    [
      'a moved timestamp',
      () => webhooks.verify({ ...sign(), 'webhook-timestamp': '1' }, body, secret, { toleranceS: 1e12 }),
    ],
    ['a timestamp in words', () => webhooks.verify({ ...sign(), 'webhook-timestamp': 'now' }, body, secret)],
    [
      'a tolerance that is no number',
      () => webhooks.verify(sign(), body, secret, { toleranceS: Number.NaN }),
    ],
    ['no signature', () => webhooks.verify({ ...sign(), 'webhook-signature': '' }, body, secret)],
    [
      'another version',
      () =>
        webhooks.verify(
          { ...sign(), 'webhook-signature': sign()['webhook-signature']?.replace('v1,', 'v2,') },
          body,
          secret,
        ),
    ],
    [
      'a signature that is not base64',
      () => webhooks.verify({ ...sign(), 'webhook-signature': 'v1,*' }, body, secret),
    ],
    [
      'a signature that is cut',
      () =>
        webhooks.verify(
          { ...sign(), 'webhook-signature': sign()['webhook-signature']?.slice(0, -8) },
          body,
          secret,
        ),
    ],
    ['no headers', () => webhooks.verify({}, body, secret)],
  ])('refuses %s', async (_what, call) => {
    expect(await codeOf(call())).toBe('invalid_signature')
  })

  it('accepts an old timestamp within the tolerance of the caller', async () => {
    const old = sign([secret], seconds(-310))
    expect((await webhooks.verify(old, body, secret, { toleranceS: 600 })).id).toBe('evt_1')
  })

  it.each(['', 'whsec_', 'whsec_*', undefined as never])('refuses the secret %s', async (wrong) => {
    expect(await codeOf(webhooks.verify(sign(), body, wrong))).toBe('invalid_argument')
    expect(await codeOf(webhooks.verify(sign(), body, []))).toMatch(/^invalid_/)
  })
})
