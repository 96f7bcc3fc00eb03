import { ADMIN_ERRORS, type AdminErrorCode } from '../contract/admin-error.ts'
import { Type } from '../contract/schema.ts'
import { ERRORS, type ErrorCode } from '../errors.ts'
import type { App } from '../http/app.ts'
import { toJsonReply } from '../http/exchange.ts'
import { VERSION } from '../version.ts'
import type { AdminRoute, Tag } from './route.ts'
import { PLAIN } from './session-cookie.ts'

type Json = Record<string, unknown>

const TAGS: Readonly<Record<Tag, string>> = {
  Session: 'Signing in and out, and one-time links.',
  Accounts: 'Accounts of the console.',
  Overview: 'How the service is doing.',
  'Try it': 'Call the API from the page.',
  Keys: 'API keys.',
  Audit: 'The audit log.',
  Catalogue: 'The lists of what can be sold.',
  Sources: 'Who is asked.',
  Records: 'Your own records.',
  Settings: 'What is set.',
}

/** Every error, 401 included. */
const AdminError = Type.Object({
  success: Type.Literal(false),
  code: Type.Enum(
    [...Object.keys(ADMIN_ERRORS), ...Object.keys(ERRORS)].filter((code) => code !== 'unauthenticated'),
  ),
  message: Type.String({ description: 'What happened, for people.' }),
  retryable: Type.Boolean({ description: 'Whether the same request may succeed later.' }),
  request_id: Type.String({ description: 'The X-Request-Id of this answer.' }),
  errors: Type.Optional(
    Type.Record(Type.Array(Type.String()), { description: 'Every bad field, and what is wrong with it.' }),
  ),
})

/** Served beside what it describes. */
export function addDocument(app: App, routes: readonly AdminRoute[]): void {
  app.route({
    methods: ['GET'],
    path: '/admin/openapi.json',
    operation: 'admin_document',
    // A relative address is right wherever the document was fetched from.
    answer: () =>
      toJsonReply({ ...toAdminOpenApi(routes, VERSION), servers: [{ url: '/' }] }, 200, [
        'cache-control',
        'no-store',
      ]),
  })
}

/** The admin API as one OpenAPI 3.1 document, made from the list of its addresses. */
export function toAdminOpenApi(routes: readonly AdminRoute[], version: string): Json {
  const tags = new Set(routes.map(({ tag }) => tag))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tabbat admin',
      version,
      summary: 'What the console talks to.',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'http://127.0.0.1:8081', description: 'The admin listener of your own server' }],
    tags: Object.entries(TAGS)
      .filter(([name]) => tags.has(name as Tag))
      .map(([name, description]) => ({ name, description })),
    security: [{ session: [] }],
    paths: toPaths(routes),
    components: {
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: PLAIN,
          description: 'Set by signing in. Behind TLS its name begins with `__Host-`.',
        },
      },
      schemas: { Error: AdminError },
    },
  }
}

function toPaths(routes: readonly AdminRoute[]): Json {
  const byPath = Object.groupBy(routes, ({ path }) => path.replace(/:([a-z]+)/g, '{$1}'))
  return Object.fromEntries(
    Object.entries(byPath).map(([path, list = []]) => [
      path,
      Object.fromEntries(list.map((route) => [route.method.toLowerCase(), toOperation(route)])),
    ]),
  )
}

function toOperation(route: AdminRoute): Json {
  const { name, tag, summary, role, input, method } = route
  return {
    operationId: toCamel(name),
    tags: [tag],
    summary,
    description: role === 'anyone' ? 'Needs no session.' : `Least role: \`${role}\`.`,
    ...(role === 'anyone' && { security: [] }),
    parameters: toParameters(route),
    ...(method === 'POST' && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: input ?? { type: 'object' } } },
      },
    }),
    responses: { 200: toSuccess(route), ...toFailures(route) },
  }
}

const toCamel = (name: string) => name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase())

function toParameters({ path, method, input }: AdminRoute): Json[] {
  const inPath = [...path.matchAll(/:([a-z]+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  if (method !== 'GET' || !input) return inPath
  const { properties, required = [] } = input as unknown as { properties: Json; required?: string[] }
  const inQuery = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
  return [...inPath, ...inQuery]
}

const toSuccess = ({ output, stream }: AdminRoute) => ({
  description: stream === undefined ? 'Ok.' : 'Comes piece by piece.',
  content: { [stream ?? 'application/json']: { schema: stream === undefined ? output : { type: 'string' } } },
})

/** One response a status, whose description says the codes. */
function toFailures({ role, method, input, stream }: AdminRoute): Json {
  const causes: AdminErrorCode[] = [
    ...(role === 'anyone' ? (['wrong_password', 'invitation_void'] as const) : (['signed_out'] as const)),
    ...(role === 'anyone' || role === 'viewer' ? [] : (['wrong_role'] as const)),
    ...(method === 'POST' ? (['foreign_origin', 'refused', 'too_many_tries'] as const) : []),
    ...(stream === undefined ? [] : (['too_many_streams'] as const)),
    'unknown_host',
  ]
  const codes: ErrorCode[] = [
    ...(method === 'POST' ? (['malformed_json', 'unsupported_media_type'] as const) : []),
    ...(input ? (['validation_failed'] as const) : []),
    'internal_error',
    'audit_unavailable',
  ]
  const entries = [
    ...causes.map((code) => ({ code, ...ADMIN_ERRORS[code] })),
    ...codes.map((code) => ({ code, status: ERRORS[code].status, message: ERRORS[code].message })),
  ]
  return Object.fromEntries(
    Object.entries(Object.groupBy(entries, ({ status }) => status)).map(([status, list = []]) => [
      status,
      {
        description: list.map(({ code, message }) => `\`${code}\`: ${message || 'says why.'}`).join(' '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  )
}

const DESCRIPTION = `The console is a page that uses this API, and nothing else. It is on the admin listener, and is meant
for the page: it may change with any version.

A browser proves who it is with the cookie of a session. Everything that changes something is a POST of
\`application/json\`, and is refused when a browser says that another site asks for it. Every change is in the audit log with
the name of the actor. Roles: \`viewer\` may look, \`operator\` may change things, \`owner\` may manage people and reveal
personal data.`
