import { SANDBOX_KEY } from '../keys/sandbox-key.ts'
import { type Endpoint, listEndpoints, readOpenApi, toCall } from './docs-page/open-api.ts'

type Json = Record<string, unknown>

/** The API as a Postman collection (format 2.1), made from the OpenAPI document. Its variables are the address and the key. */
export function toPostmanCollection(document: Json): Json {
  const openApi = readOpenApi(document)
  const endpoints = listEndpoints(openApi)
  const byTag = Map.groupBy(endpoints, ({ tags }) => tags?.[0] ?? 'Other')
  return {
    info: {
      name: `${openApi.info.title} ${openApi.info.version}`,
      description: openApi.info.description,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{key}}', type: 'string' }] },
    variable: [
      { key: 'baseUrl', value: endpoints[0]?.server ?? '' },
      { key: 'key', value: SANDBOX_KEY },
      ...listIds(endpoints),
    ],
    item: [...byTag].map(([name, inTag]) => ({ name, item: inTag.map(toItem) })),
  }
}

/** Ids of what a call created. A script sets them, for the calls after it. */
const listIds = (endpoints: readonly Endpoint[]) =>
  [...new Set(endpoints.flatMap(listCreatedIds))].map((key) => ({ key, value: '' }))

const listCreatedIds = ({ parameters = [] }: Endpoint) =>
  parameters
    .filter((parameter) => parameter.in === 'path' && isCreated(parameter.name))
    .map(({ name }) => name)

/** The other path parameters, such as a provider, have examples that work. */
const isCreated = (name: string) => name === 'reference' || name === 'id'

function toItem(endpoint: Endpoint): Json {
  const { method, path, server, summary, description, operationId } = endpoint
  const call = toCall(endpoint)
  const isGet = method === 'GET'
  const filled = call.url.slice(server.length)
  // Postman and newman send no body with a GET unless they are told to, and the query string says the same.
  const body = isGet ? undefined : call.body
  return {
    name: summary ?? operationId,
    event: [{ listen: 'test', script: { type: 'text/javascript', exec: toScript(endpoint) } }],
    request: {
      method,
      description,
      header: [
        ...(body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }]),
        // A new one for every call: {{$guid}} is filled by Postman.
        ...(call.isIdempotent ? [{ key: 'Idempotency-Key', value: '{{$guid}}' }] : []),
      ],
      url: `{{baseUrl}}${listCreatedIds(endpoint).length > 0 ? path.replace(/\{(\w+)\}/g, '{{$1}}') : filled}`,
      ...(body !== undefined && { body: { mode: 'raw', raw: JSON.stringify(body, null, 2) } }),
    },
  }
}

/** The reference of a finished verification is not found: only a pending one has an address. */
function toScript(endpoint: Endpoint): string[] {
  const { responses, operationId } = endpoint
  const needsReference = listCreatedIds(endpoint).includes('reference')
  const success = Object.keys(responses).find((status) => status.startsWith('2'))
  const status = needsReference ? '404' : success
  return [
    `pm.test('${operationId}: ${status}', () => pm.response.to.have.status(${status}))`,
    ...(operationId === 'verifyNin'
      ? [`pm.collectionVariables.set('reference', pm.response.json().data.request_reference)`]
      : []),
    ...(operationId === 'createBatch'
      ? [`pm.collectionVariables.set('id', pm.response.json().data.id)`]
      : []),
  ]
}
