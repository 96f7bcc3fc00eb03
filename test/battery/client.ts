import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { request as requestTls, Agent as TlsAgent } from 'node:https'
import { text } from 'node:stream/consumers'

export type Reply = {
  readonly status: number
  readonly body: string
  readonly headers: IncomingHttpHeaders
}

export type Client = {
  readonly get: (url: string, headers?: Record<string, string>) => Promise<Reply>
  readonly post: (url: string, payload: object, headers?: Record<string, string>) => Promise<Reply>
  readonly close: () => void
}

/** Keeps its connections open. An answer counts only when all of it has arrived. `ca`: the certificate of an https server. */
export function createClient(connections: number, ca?: string): Client {
  const options = { keepAlive: true, maxSockets: connections }
  const agent = ca === undefined ? new Agent(options) : new TlsAgent({ ...options, ca })
  const start = ca === undefined ? request : requestTls
  const send = (method: string, url: string, headers: Record<string, string>, body?: string) =>
    new Promise<Reply>((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
      start(url, { agent, method, headers: { ...headers, ...length } }, (response) => {
        text(response).then(
          (all) => resolve({ status: response.statusCode ?? 0, body: all, headers: response.headers }),
          reject,
        )
      })
        .on('error', reject)
        .end(body)
    })
  return {
    get: (url, headers = {}) => send('GET', url, headers),
    post: (url, payload, headers = {}) =>
      send('POST', url, { 'content-type': 'application/json', ...headers }, JSON.stringify(payload)),
    close: () => agent.destroy(),
  }
}
