import type { App } from '../src/http/app.ts'
import { requestLocally } from '../src/http/local-request.ts'

export type InjectOptions = {
  readonly method?: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON. */
  readonly payload?: string | Buffer | object
  readonly remoteAddress?: string
}

export type InjectResponse = {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
  readonly rawPayload: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: tests look into many shapes.
  readonly json: () => any
}

/** A request to a listener that need not listen. */
export async function inject(
  app: App,
  { method = 'GET', url, headers = {}, payload, remoteAddress = '127.0.0.1' }: InjectOptions,
): Promise<InjectResponse> {
  const isObject = typeof payload === 'object' && !Buffer.isBuffer(payload)
  const {
    status,
    headers: sent,
    body,
  } = await requestLocally(app, {
    method,
    path: url.toWellFormed().replaceAll(/[^\x21-\xff]/gu, encodeURIComponent),
    headers: { ...(isObject && { 'content-type': 'application/json' }), ...headers },
    body: isObject ? JSON.stringify(payload) : (payload as string | Buffer | undefined),
    address: remoteAddress,
  })
  const text = body.toString()
  return { statusCode: status, headers: sent, body: text, rawPayload: body, json: () => JSON.parse(text) }
}
