import { ADMIN_ERRORS, type AdminErrorCode } from '../contract/error.ts'
import { Type } from '../contract/schema.ts'
import { ERRORS, type ErrorCode } from '../errors.ts'
import type { App } from '../http/app.ts'
import { toTextReply } from '../http/exchange.ts'
import { VERSION } from '../version.ts'
import { SESSION_COOKIE } from './authorize.ts'
import { type AdminRoute, refusesTokens, type Tag } from './route.ts'

type Json = Record<string, unknown>

const TAGS: Readonly<Record<Tag, string>> = {
  Session: 'Sign-in, sign-out, sessions, password, second factors, one-time links.',
  Accounts: 'Accounts of the console.',
  Tokens: 'Tokens of this API, for scripts.',
  Overview: 'Verifications, latency, errors and sources.',
  'Try it': 'Calls of the public API.',
  Batches: 'Files of verifications.',
  Keys: 'API keys.',
  Webhooks: 'Endpoints that are told of events, and what was sent to them.',
  Incidents: 'What went wrong, and the channels by which people are told.',
  Audit: 'The audit log.',
  Requests: 'The request log: what each key sent and how it was answered.',
  Catalogue: 'Lists of bundles and TV add-ons.',
  Sources: 'Vendors and their state.',
  Records: 'The records of the registry.',
  People: 'Reports about a person, and erasure.',
  Settings: 'Settings and state of the server.',
}

/** The body of every error, 401 included. */
const AdminError = Type.Object({
  success: Type.Literal(false),
  code: Type.Enum(
    // Some codes are those of both.
    [...new Set([...Object.keys(ADMIN_ERRORS), ...Object.keys(ERRORS)])].filter(
      (code) => code !== 'unauthenticated',
    ),
  ),
  message: Type.String({ description: 'What is wrong, and what to do.' }),
  retryable: Type.Boolean({ description: 'Whether the same request may succeed later.' }),
  request_id: Type.String({ description: 'The X-Request-Id of this response.' }),
  errors: Type.Optional(
    Type.Record(Type.Array(Type.String()), { description: 'Every bad field, and what is wrong with it.' }),
  ),
})

/** Serves the document at /admin/openapi.json. */
export function addDocument(app: App, routes: readonly AdminRoute[]): void {
  // Made at the first request, so that the server starts sooner. Responses share the bytes.
  let document: Buffer | undefined
  app.route({
    methods: ['GET'],
    path: '/admin/openapi.json',
    operation: 'admin_document',
    answer: () => {
      // A relative URL is right for every host name.
      document ??= Buffer.from(
        JSON.stringify({ ...toAdminOpenApi(routes, VERSION), servers: [{ url: '/' }] }),
      )
      return toTextReply('application/json; charset=utf-8', document, ['cache-control', 'no-store'])
    },
  })
}

/** The admin API as an OpenAPI 3.1 document, from the list of its routes. */
export function toAdminOpenApi(routes: readonly AdminRoute[], version: string): Json {
  const tags = new Set(routes.map(({ tag }) => tag))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tabbat admin',
      version,
      summary: 'The API of the console.',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'http://127.0.0.1:8081', description: 'The admin listener of your own server' }],
    tags: Object.entries(TAGS)
      .filter(([name]) => tags.has(name as Tag))
      .map(([name, description]) => ({ name, description })),
    security: [{ session: [] }, { token: [] }],
    paths: toPaths(routes),
    components: {
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: SESSION_COOKIE,
          description: 'Set by signing in. Over TLS the name starts with `__Host-`.',
        },
        token: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'tbt_admin_…',
          description: 'A token for scripts, from `tabbat tokens create` or the page Tokens.',
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
  const { name, tag, summary, input, method } = route
  return {
    operationId: toCamel(name),
    tags: [tag],
    summary,
    ...toAccess(route),
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

/** Who may call the route. */
function toAccess(route: AdminRoute): Json {
  const { role, isSensitive, isSensitiveIfLive } = route
  if (role === 'anyone') return { description: 'Needs no session.', security: [] }
  const confirmed = isSensitive ? ' Needs a confirmation of the last 10 minutes.' : ''
  const live = isSensitiveIfLive
    ? ' For a live key it needs a confirmation of the last 10 minutes, and refuses tokens.'
    : ''
  const description = `Required role: \`${role}\`.${confirmed}${live}`
  return refusesTokens(route)
    ? { description: `${description} Refused for tokens.`, security: [{ session: [] }] }
    : { description }
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
  description: stream === undefined ? 'Success.' : 'A stream.',
  content: { [stream ?? 'application/json']: { schema: stream === undefined ? output : { type: 'string' } } },
})

const DESCRIPTION = `The console uses only this API. It is served by the admin listener and may change with any version.

People sign in, which sets a session cookie. Every change is a POST; with a session it must be of type
\`application/json\`, and requests from another site are refused. Scripts send \`Authorization: Bearer tbt_admin_…\` instead:
no cookie is needed, and one that is sent too is ignored.

A token has a role, an expiry and optionally addresses. Whatever its role, it may not call what needs the password again
(revealing a record, for example), may not change accounts, sessions or tokens, and may not create, change or roll a live key: a
stolen token must not create access that outlives it. These requests answer 403 \`session_required\`. More than 30 unknown tokens from an address in a minute are
answered with 429.

Every change is in the audit log with the name of the account, or with \`token\` and the id of the token. Roles: \`viewer\` reads, \`operator\` also changes things, \`owner\`
also manages accounts and reveals personal data.`

/** One response per status; its description lists the codes. */
function toFailures(route: AdminRoute): Record<string, unknown> {
  const { role, method, input, stream, isSearch, isSensitive, isSensitiveIfLive } = route
  const adminCodes: AdminErrorCode[] = [
    ...(role === 'anyone'
      ? (['wrong_password', 'invitation_void', 'too_many_tries'] as const)
      : (['signed_out', 'token_refused', 'address_refused', 'too_many_tries'] as const)),
    ...(role !== 'anyone' && (refusesTokens(route) || isSensitiveIfLive)
      ? (['session_required'] as const)
      : []),
    ...(role === 'anyone' || role === 'viewer' ? [] : (['wrong_role'] as const)),
    ...(isSensitive || isSensitiveIfLive ? (['confirm_first'] as const) : []),
    ...(method === 'POST' ? (['foreign_origin', 'refused'] as const) : []),
    ...(stream === undefined ? [] : (['too_many_streams'] as const)),
    ...(isSearch ? (['too_many_searches'] as const) : []),
    'unknown_host',
  ]
  const codes: ErrorCode[] = [
    ...(method === 'POST' ? (['malformed_json', 'unsupported_media_type'] as const) : []),
    ...(input ? (['validation_failed'] as const) : []),
    'internal_error',
    'audit_unavailable',
  ]
  const entries = [
    ...adminCodes.map((code) => ({ code, ...ADMIN_ERRORS[code] })),
    ...codes.map((code) => ({ code, status: ERRORS[code].status, message: ERRORS[code].message })),
  ]
  return Object.fromEntries(
    Object.entries(Object.groupBy(entries, ({ status }) => status)).map(([status, list = []]) => [
      status,
      {
        description: list
          .map(({ code, message }) => `\`${code}\`: ${message || 'the message gives the reason.'}`)
          .join(' '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  )
}
