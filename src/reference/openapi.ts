import { ErrorBody, UnauthenticatedBody } from '../contract/error.ts'
import type { Operation, ResourceOperation } from '../operations/operation.ts'
import { EXAMPLE_REFERENCE, schemaRef, toFailures, toPath } from './openapi-failures.ts'
import { HEADERS, headerRefs, VERIFICATION_HEADERS } from './openapi-headers.ts'
import { toAccepted, toAcceptedRequest } from './openapi-inputs.ts'
import { toResourcePaths } from './openapi-resources.ts'
import { toWebhooks, WEBHOOK_SCHEMA } from './openapi-webhooks.ts'

/** Responses of a running server to the example requests, by operationId. */
export type Examples = Readonly<Record<string, unknown>>

type Json = Record<string, unknown>

/** The API as an OpenAPI 3.1 document, made from the operations and their schemas. */
export function toOpenApi(
  operations: readonly Operation[],
  resources: readonly ResourceOperation[],
  examples: Examples,
  version: string,
): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tabbat',
      version,
      summary: 'Nigerian identity checks and bundle look-ups.',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'http://127.0.0.1:8080', description: 'Your own server' }],
    tags: [
      { name: 'Identity', description: 'Verify a number against a phone.' },
      { name: 'Batches', description: 'Verify many numbers, and read the results later.' },
      { name: 'Look-ups', description: 'List data bundles and TV add-ons.' },
      { name: 'Webhooks', description: 'Signed requests that the server sends to your endpoints.' },
    ],
    security: [{ key: [] }, { bareKey: [] }],
    paths: {
      ...Object.fromEntries(
        operations.map((operation) => [toPath(operation), toPathItem(operation, examples)]),
      ),
      ...toResourcePaths(resources),
    },
    webhooks: toWebhooks(),
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key, as `Bearer <key>`.' },
        bareKey: { type: 'apiKey', in: 'header', name: 'Authorization', description: 'The bare API key.' },
      },
      schemas: {
        Error: ErrorBody,
        Event: WEBHOOK_SCHEMA,
        Unauthenticated: UnauthenticatedBody,
        ...Object.fromEntries(operations.flatMap(toSchemas)),
      },
      headers: HEADERS,
    },
  }
}

/** The example request of an operation, from the examples of its required fields. */
export function toExampleInput({ request }: Operation): Record<string, string> {
  const required = request.required as readonly string[]
  const fields = Object.entries(request.properties as Record<string, { examples?: string[] }>).filter(
    ([name]) => required.includes(name),
  )
  return Object.fromEntries(fields.map(([name, { examples = [] }]) => [name, examples[0] ?? '']))
}

/** A response as an example: values that change with every call are replaced by fixed ones. */
export const toExampleAnswer = (json: string): unknown =>
  JSON.parse(
    json
      .replace(/"ver_[0-9a-z]+"/g, `"${EXAMPLE_REFERENCE}"`)
      .replace(/http:\/\/localhost:80(?=\/)/g, 'http://127.0.0.1:8080'),
  )

const capital = (text: string) => text[0]?.toUpperCase() + text.slice(1)
const hasBody = ({ inputFrom }: Operation) => inputFrom !== 'path'

function toSchemas(operation: Operation): [string, unknown][] {
  const name = capital(operation.operationId)
  const response: [string, unknown] = [`${name}Response`, operation.response]
  return hasBody(operation)
    ? [[`${name}Request`, toAcceptedRequest(operation.request)], response]
    : [response]
}

function toPathItem(operation: Operation, examples: Examples): Json {
  const { operationId, tag, summary, description, scope } = operation
  return {
    [operation.method.toLowerCase()]: {
      operationId,
      tags: [tag],
      summary,
      description: `${description}\n\nScope: \`${scope}\`.`,
      ...toParameters(operation),
      ...(hasBody(operation) && { requestBody: toRequestBody(operation) }),
      responses: {
        200: toSuccess(operation, examples),
        ...(operation.method === 'GET' && {
          304: { description: 'Not modified: the ETag is still current.' },
        }),
        ...toFailures(operation),
      },
    },
  }
}

function toParameters(operation: Operation): Json {
  if (operation.inputFrom === 'body') return { parameters: VERIFICATION_HEADERS }
  const place = operation.inputFrom === 'path' ? 'path' : 'query'
  const parameters = Object.entries(operation.request.properties as Record<string, Json>).map(
    ([name, schema]) => ({
      name,
      in: place,
      required: place === 'path',
      description: schema.description,
      schema: toAccepted(schema),
    }),
  )
  return parameters.length === 0 ? {} : { parameters }
}

function toRequestBody(operation: Operation): Json {
  return {
    required: operation.inputFrom === 'body',
    content: {
      'application/json': {
        schema: schemaRef(`${capital(operation.operationId)}Request`),
        example: toExampleInput(operation),
      },
    },
  }
}

function toSuccess(operation: Operation, examples: Examples): Json {
  return {
    description:
      operation.tag === 'Identity' ? 'VERIFIED: the record exists and its phone matches.' : 'The list.',
    headers: headerRefs(
      'X-Request-Id',
      'RateLimit',
      'RateLimit-Policy',
      ...(operation.tag === 'Identity' ? ['Tabbat-Match'] : []),
    ),
    content: {
      'application/json': {
        schema: schemaRef(`${capital(operation.operationId)}Response`),
        example: examples[operation.operationId],
      },
    },
  }
}

const DESCRIPTION = `One HTTP API for Nigerian identity checks and bundle look-ups, on your own server.

**200 with \`success: true\` on a verification means VERIFIED, and nothing else.** Every error except 401 has the same
shape, with a \`code\` for programs. Hidden values are exactly \`****\`; a field without data is an empty string.

A test key (\`tbt_test_…\`) gets synthetic people from the sandbox, where every well-formed number works; a live key
(\`tbt_live_…\`) gets answers from the sources that the operator configured.`
