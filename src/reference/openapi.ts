import { ErrorBody, UnauthenticatedBody } from '../contract/error.ts'
import { KEY_EVENTS, OPERATOR_EVENTS } from '../contract/event.ts'
import type { TObject } from '../contract/schema.ts'
import type { Operation, ResourceOperation } from '../operations/operation.ts'
import {
  EXAMPLE_REFERENCE,
  HEADERS,
  headerRefs,
  schemaRef,
  toFailures,
  toPath,
  VERIFICATION_HEADERS,
} from './openapi-responses.ts'

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

type Field = Readonly<Record<string, unknown>> & { readonly pattern?: string }

/**
 * A request as the server takes it: with white space around values, and with optional fields that are blank or null. There
 * is no maxLength, because the server counts only what is left without the white space.
 */
function toAcceptedRequest(request: TObject): Record<string, unknown> {
  const required = request.required as readonly string[]
  const fields = Object.entries(request.properties as unknown as Record<string, Field>).map(
    ([name, field]) => [name, required.includes(name) ? toAccepted(field) : toAcceptedOptional(field)],
  )
  return { ...request, properties: Object.fromEntries(fields) }
}

const toAccepted = (field: Field): Field => withPattern(field, (inner) => `^\\s*(?:${inner})\\s*$`)

const toAcceptedOptional = (field: Field): Field => ({
  ...withPattern(field, (inner) => `^\\s*(?:${inner})?\\s*$`),
  type: ['string', 'null'],
})

function withPattern(field: Field, toPattern: (inner: string) => string): Field {
  const { pattern, maxLength: _, ...rest } = field
  if (pattern === undefined) return field
  return { ...rest, pattern: toPattern(pattern.replace(/^\^|\$$/g, '')) }
}

/** The paths of operations on what callers have created. Several methods may share a path. */
function toResourcePaths(operations: readonly ResourceOperation[]): Json {
  const byPath = Map.groupBy(operations, toPath)
  return Object.fromEntries(
    [...byPath].map(([path, methods]) => [
      path,
      Object.fromEntries(
        methods.map((operation) => [operation.method.toLowerCase(), toResourceItem(operation)]),
      ),
    ]),
  )
}

function toResourceItem(operation: ResourceOperation): Json {
  const { operationId, tag, summary, description, scope, headers = [], requestBody, responses } = operation
  const parameters = [...toPathParameters(operation), ...headers]
  const successes = Object.entries(responses).map(([status, response]) => [
    status,
    { ...response, headers: headerRefs('X-Request-Id', 'RateLimit', 'RateLimit-Policy') },
  ])
  return {
    operationId,
    tags: [tag],
    summary,
    description: `${description}\n\nScope: ${scope.map((each) => `\`${each}\``).join(' or ')}.`,
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: { ...Object.fromEntries(successes), ...toFailures(operation) },
  }
}

const toPathParameters = ({ path, id }: ResourceOperation): Json[] =>
  [...path.matchAll(/:([a-z]+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: id?.description,
    schema: { type: 'string', examples: [id?.example] },
  }))

const WHEN: Readonly<Record<(typeof KEY_EVENTS)[number] | (typeof OPERATOR_EVENTS)[number], string>> = {
  'verification.completed': 'A pending verification has its answer.',
  'verification.expired': 'A pending verification got no answer in time.',
  'batch.completed': 'A batch has ended.',
  'source.down': 'A vendor cannot be used.',
  'source.up': 'A vendor can be used again.',
  'spend.near_cap': 'The spend of a vendor is near its daily cap.',
  'audit.unavailable': 'A process cannot write the audit log.',
  'audit.checkpoint': 'A checkpoint of the audit log was signed.',
  'catalogue.changed': 'The catalogue has a new version.',
}

const webhookHeader = (name: string, description: string, example: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  example,
  schema: { type: 'string' },
})

const PARAMETERS = [
  webhookHeader(
    'webhook-id',
    'The same for every attempt of an event.',
    'evt_0mwik6bcs84cf80031b800d749e4d51a9',
  ),
  webhookHeader('webhook-timestamp', 'When it was sent, in Unix time.', '1794790862'),
  webhookHeader(
    'webhook-signature',
    'HMAC-SHA-256 over `id.timestamp.body`; two of them after a roll.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
]

/** The body of a webhook. It never holds personal data. */
const WEBHOOK_SCHEMA: Json = {
  type: 'object',
  required: ['type', 'timestamp', 'data'],
  properties: {
    type: { type: 'string', enum: [...KEY_EVENTS, ...OPERATOR_EVENTS, 'webhook.test'] },
    timestamp: { type: 'string', format: 'date-time' },
    data: {
      type: 'object',
      required: ['reference', 'status'],
      properties: {
        reference: {
          type: 'string',
          description: 'The verification, the batch, or what the event is about.',
        },
        status: { type: 'string' },
      },
      additionalProperties: { type: ['string', 'number', 'boolean', 'null'] },
    },
  },
  examples: [
    {
      type: 'verification.completed',
      timestamp: '2026-11-16T01:01:02.345Z',
      data: {
        reference: EXAMPLE_REFERENCE,
        status: 'VERIFIED',
        operation: 'verify_nin',
        mode: 'live',
      },
    },
  ],
}

/** The events that Tabbat sends, as `webhooks` of OpenAPI 3.1. */
const toWebhooks = (): Json =>
  Object.fromEntries(
    Object.entries(WHEN).map(([event, summary]) => [
      event,
      {
        post: {
          operationId: `on${event.replaceAll(/(?:^|[._])([a-z])/g, (_found, letter: string) => letter.toUpperCase())}`,
          tags: ['Webhooks'],
          summary,
          description: 'Sent to endpoints that want it, signed as Standard Webhooks specifies.',
          security: [],
          parameters: PARAMETERS,
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Event' } } },
          },
          responses: {
            '2XX': { description: 'The event was received.' },
            '4XX': { description: 'It is sent again later. After 410, the endpoint is disabled.' },
          },
        },
      },
    ]),
  )
