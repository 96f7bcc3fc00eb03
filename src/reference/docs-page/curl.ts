import { SANDBOX_KEY } from '../../keys/sandbox-key.ts'
import { toCall } from './call.ts'
import type { Endpoint } from './open-api.ts'

type Curl = { readonly title: string; readonly command: string }

/** Every form of this call. A GET with a body has two more forms, for clients that cannot send one. */
export function listCurls(endpoint: Endpoint): Curl[] {
  const { method, url, bareUrl, body } = toCall(endpoint)
  if (body === undefined) return [{ title: 'curl', command: toCommand(url, { method }) }]
  if (method !== 'GET') return [{ title: 'curl', command: toCommand(bareUrl, { method, body }) }]
  return [
    { title: 'curl: GET with a JSON body', command: toCommand(bareUrl, { method: 'GET', body }) },
    { title: 'curl: GET with a query string', command: toCommand(url) },
    { title: 'curl: QUERY with a JSON body', command: toCommand(bareUrl, { method: 'QUERY', body }) },
  ]
}

const GET = { method: 'GET' }

function toCommand(url: string, send: { readonly method: string; readonly body?: unknown } = GET): string {
  const lines = [`-H ${quote(`Authorization: Bearer ${SANDBOX_KEY}`)}`]
  if (send.body !== undefined)
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(send.body))}`)
  // With -d, curl uses POST by default.
  const method = send.method === (send.body === undefined ? 'GET' : 'POST') ? '' : ` -X ${send.method}`
  // Always quoted: the server inserts its own address, and brackets as in [::1] are special in a shell.
  return [`curl -s${method} '${url}'`, ...lines].join(' \\\n  ')
}

/** Quoted for a shell, if needed. */
const quote = (text: string) =>
  /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
