import { type Endpoint, jsonOf, type Schema } from './open-api.ts'

/** The example call of an operation. */
export type Call = {
  readonly method: string
  /** With the query string, if the operation takes one. */
  readonly url: string
  /** Without a query string. */
  readonly bareUrl: string
  readonly body: unknown
  readonly isIdempotent: boolean
}

export function toCall(endpoint: Endpoint): Call {
  const { method, parameters = [], requestBody } = endpoint
  const bareUrl = toUrl(endpoint)
  return {
    method,
    url: bareUrl + toQuery(endpoint),
    bareUrl,
    body: jsonOf(requestBody)?.example,
    isIdempotent: parameters.some(({ name }) => name === 'Idempotency-Key'),
  }
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
