/** The part of OpenAPI that the page shows, with references resolved. */
export type OpenApi = {
  readonly info: { readonly title: string; readonly version: string } & Described
  readonly servers?: readonly { readonly url: string }[]
  readonly tags?: readonly ({ readonly name: string } & Described)[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>
  readonly webhooks?: Readonly<Record<string, { readonly post: ApiOperation }>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly headers: Readonly<Record<string, Described & { readonly example?: string }>>
  }
}

type Described = { readonly summary?: string; readonly description?: string }

type ApiOperation = Described & {
  readonly operationId: string
  readonly tags?: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, Response>>
}

type Parameter = Described & {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: Schema
  readonly example?: unknown
}

export type Response = Described & { readonly content?: Content }

type Content = Readonly<Record<string, Media>>

type Media = {
  readonly schema?: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

export type Schema = {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly examples?: readonly unknown[]
  readonly 'x-rule'?: string
  readonly 'x-pii'?: boolean
}

/** An operation with its method, path and server. */
export type Endpoint = ApiOperation & {
  readonly method: string
  readonly path: string
  readonly server: string
}

/** The document with every $ref resolved. */
export const readOpenApi = (document: Record<string, unknown>): OpenApi =>
  resolve(document, document, []) as OpenApi

export const listEndpoints = ({ paths, servers }: OpenApi): Endpoint[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
      server: servers?.[0]?.url ?? '',
    })),
  )

export const jsonOf = (holder: { readonly content?: Content } | undefined): Media | undefined =>
  holder?.content?.['application/json']

function resolve(value: unknown, document: Record<string, unknown>, open: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => resolve(item, document, open))
  if (typeof value !== 'object' || value === null) return value
  const reference = (value as { $ref?: unknown }).$ref
  if (typeof reference === 'string') {
    // A schema that contains itself would never end, so the inner one stays empty.
    if (open.includes(reference)) return {}
    return resolve(follow(reference, document), document, [...open, reference])
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, resolve(inner, document, open)]),
  )
}

function follow(reference: string, document: Record<string, unknown>): unknown {
  const names = reference
    .replace(/^#\//, '')
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  return names.reduce<unknown>(
    (value, name) => (value as Record<string, unknown> | undefined)?.[name],
    document,
  )
}

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
