import { invalidArgument, TabbatError } from './error.ts'

export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export type WebhookEvent = {
  /** The same for every delivery of an event: ignore one that you have seen. */
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly data: {
    readonly reference?: string
    readonly status?: string
    readonly [name: string]: string | number | boolean | null | undefined
  }
}

export type WebhookOptions = {
  /** How old or how far ahead the timestamp may be: 300 seconds. */
  readonly toleranceS?: number | undefined
}

export type Webhooks = {
  /**
   * The event, if its signature is right and it is recent; else an error with the code `invalid_signature`.
   * `body` are the bytes as they arrived; `secret` is one secret or several, of which one must fit.
   */
  readonly verify: (
    headers: WebhookHeaders,
    body: string | Uint8Array | ArrayBuffer,
    secret: string | readonly string[],
    options?: WebhookOptions,
  ) => Promise<WebhookEvent>
}

const PREFIX = 'whsec_'
const MAX_SIGNATURES = 16
const encoder = new TextEncoder()

export const webhooks: Webhooks = {
  verify: async (headers, body, secret, { toleranceS = 300 } = {}) => {
    const keys = await Promise.all((secret?.length ? [secret].flat() : ['']).map(importSecret))
    const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
      readHeader(headers, `webhook-${name}`),
    )
    if (!id || !signatures || !timestamp || !/^\d{1,12}$/.test(timestamp))
      throw invalidSignature('The headers of the webhook are missing or wrong.')
    if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= toleranceS))
      throw invalidSignature('The webhook is too old, or a clock is wrong.')
    const bytes = typeof body === 'string' ? encoder.encode(body) : new Uint8Array(body)
    const signed = join(encoder.encode(`${id}.${timestamp}.`), bytes)
    const given = signatures.split(' ').slice(0, MAX_SIGNATURES).map(readSignature)
    const checks = given.flatMap((signature) =>
      signature ? keys.map((key) => crypto.subtle.verify('HMAC', key, signature, signed)) : [],
    )
    if (!(await Promise.all(checks)).includes(true))
      throw invalidSignature('No signature of the webhook fits the secret.')
    return { ...parseEvent(bytes), id }
  },
}

const invalidSignature = (message: string) => new TabbatError('invalid_signature', message)

/** `crypto.subtle.verify` compares in constant time. */
async function importSecret(secret: unknown) {
  const raw = typeof secret === 'string' ? decode(secret.replace(/^whsec_/, '')) : undefined
  if (!raw?.length) throw invalidArgument(`The secret of a webhook is ${PREFIX} and text in base64.`)
  return crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

function readHeader(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof found === 'string' ? found : found?.join(' ')
}

const readSignature = (text: string) => (text.startsWith('v1,') ? decode(text.slice(3)) : undefined)

function decode(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}

function join(head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(head.length + tail.length)
  all.set(head)
  all.set(tail, head.length)
  return all
}

function parseEvent(bytes: Uint8Array): Omit<WebhookEvent, 'id'> {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as Omit<WebhookEvent, 'id'>
  } catch {
    throw new TabbatError('unexpected_response', 'The body of the webhook is not JSON.')
  }
}
