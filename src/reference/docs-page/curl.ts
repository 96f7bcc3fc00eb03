import { SANDBOX_KEY } from '../../keys/sandbox-key.ts'
import { type Endpoint, jsonOf, type Schema } from './open-api.ts'

type Curl = { readonly title: string; readonly command: string }

/** Every form of this call. A GET with a body has two more forms, for clients that cannot send one. */
export function listCurls(endpoint: Endpoint): Curl[] {
  const url = toUrl(endpoint)
  const body = jsonOf(endpoint.requestBody)?.example
  const query = toQuery(endpoint)
  if (body === undefined)
    return [{ title: 'curl', command: toCommand(url + query, { method: endpoint.method }) }]
  if (endpoint.method !== 'GET')
    return [{ title: 'curl', command: toCommand(url, { method: endpoint.method, body }) }]
  return [
    { title: 'GET with a JSON body', command: toCommand(url, { method: 'GET', body }) },
    { title: 'GET with a query string', command: toCommand(url + query) },
    { title: 'QUERY with a JSON body', command: toCommand(url, { method: 'QUERY', body }) },
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

const toUrl = ({ server, path, parameters = [] }: Endpoint) =>
  server +
  path.replace(/\{([^}]+)\}/g, (_hole, name) =>
    encodeURIComponent(exampleOf(parameters.find((parameter) => parameter.name === name)?.schema)),
  )

function toQuery({ parameters = [] }: Endpoint): string {
  const inQuery = parameters.filter((parameter) => parameter.in === 'query')
  const query = new URLSearchParams(
    Object.fromEntries(inQuery.map(({ name, schema }) => [name, exampleOf(schema)])),
  )
  return query.size === 0 ? '' : `?${query}`
}

const exampleOf = (schema: Schema | undefined) => String(schema?.examples?.[0] ?? '')

/** Quoted for a shell, if needed. */
const quote = (text: string) =>
  /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
