import type { AddressInfo } from 'node:net'
import type { Context } from '../context/context.ts'
import { TV_TYPES } from '../contract/bundles.ts'
import { AdminError } from '../contract/error.ts'
import { type Static, Type } from '../contract/schema.ts'
import { AppError } from '../errors.ts'
import { toListenerUrl } from '../http/address.ts'
import { type LocalRequest, type LocalResponse, requestLocally } from '../http/local-request.ts'
import { hasPublicSandboxKey, SANDBOX_KEY } from '../keys/sandbox-key.ts'
import type { Operation } from '../operations/operation.ts'
import { OPERATIONS } from '../operations/operations.ts'
import { toExampleInput } from '../reference/openapi.ts'
import { VERIFICATION_HEADERS } from '../reference/openapi-responses.ts'
import { SANDBOX_NUMBERS } from '../sources/sandbox/numbers.ts'
import type { AdminDeps } from './admin-deps.ts'
import { Mode, strict } from './fields.ts'
import { type AdminRoute, defineRoute } from './route.ts'

const Field = Type.Object({
  name: Type.String(),
  description: Type.String(),
  example: Type.String(),
  required: Type.Boolean(),
  choices: Type.Nullable(Type.Array(Type.String())),
})
export const TryForm = Type.Object({
  operation: Type.String(),
  operation_id: Type.String(),
  method: Type.String(),
  path: Type.String(),
  input_from: Type.Enum(['body', 'body or query', 'path'] as const),
  summary: Type.String(),
  description: Type.String(),
  fields: Type.Array(Field),
  /** Headers that say how it is verified, and what for. */
  headers: Type.Array(Field),
  scenarios: Type.Array(
    Type.Object({
      title: Type.String(),
      input: Type.Unsafe<Record<string, string>>({ type: 'object' }),
    }),
  ),
})
export type TryForm = Static<typeof TryForm>
export const TryForms = Type.Object({
  operations: Type.Array(TryForm),
  /** The public sandbox key, where this server accepts it. */
  sandbox_key: Type.Nullable(Type.String()),
  /** The URL of the public API, for the examples. */
  base_url: Type.String(),
})
export type TryForms = Static<typeof TryForms>
const TryRequest = Type.Object(
  {
    operation: Type.String({ maxLength: 60 }),
    input: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string', maxLength: 200 },
      maxProperties: 10,
    }),
    /** By their names in the form. An empty one is not sent. */
    headers: Type.Optional(
      Type.Unsafe<Record<string, string>>({
        type: 'object',
        additionalProperties: { type: 'string', maxLength: 255 },
        maxProperties: 10,
      }),
    ),
    /** Absent: the public sandbox key. */
    key: Type.Optional(Type.String({ maxLength: 200 })),
  },
  strict,
)
export const TryResult = Type.Object({
  status: Type.Integer(),
  /** Null if the key was refused. */
  mode: Type.Nullable(Mode),
  ms: Type.Number(),
  headers: Type.Unsafe<Record<string, string>>({ type: 'object' }),
  body: Type.Unsafe<unknown>({}),
})
export type TryResult = Static<typeof TryResult>

const tag = 'Try it'
type Input = Readonly<Record<string, string>>

const listForms = defineRoute({
  name: 'list_try_forms',
  tag,
  method: 'GET',
  path: '/admin/try',
  summary: 'The operations as forms, with examples for the sandbox.',
  role: 'viewer',
  output: TryForms,
  run: async (deps) => ({
    operations: listTryForms(deps.context),
    sandbox_key: findSandboxKey(deps.context),
    base_url: toBaseUrl(deps),
  }),
})

/** The URL of the public API: TABBAT_PUBLIC_URL, else the address of the listener. */
export function toBaseUrl({ context: { config }, api }: AdminDeps): string {
  if (config.publicUrl !== undefined) return config.publicUrl
  const { port } = (api.listener.address() as AddressInfo | null) ?? config
  return toListenerUrl(config, { host: config.host, port })
}

const tryOut = defineRoute({
  name: 'try_operation',
  tag,
  method: 'POST',
  path: '/admin/try',
  summary:
    'Call the public API, with the public sandbox key or another key. Audited with the key and the account.',
  role: 'operator',
  input: TryRequest,
  output: TryResult,
  run: async (deps, { input: request, exchange, actor }) => {
    const operation = OPERATIONS.find(({ name }) => name === request.operation)
    if (!operation) throw toFieldError('operation', 'must be the name of an operation')
    const key = readTryKey(deps.context, request.key)
    const headers = { ...readHeaders(operation, request.headers), authorization: `Bearer ${key}` }
    const call = toCall(operation, readInput(operation, request.input), headers, toBaseUrl(deps))
    const startedAt = performance.now()
    // The address of the browser, so that the IP list of a key applies to it.
    const address = deps.addresses.callerOf(exchange)
    const response = await requestLocally(deps.api, { ...call, address, account: actor.name })
    return toTryResult(response, key, performance.now() - startedAt)
  },
})

const toFieldError = (field: string, rule: string) =>
  new AppError('validation_failed', { errors: { [field]: [`${field} ${rule}`] } })

function readInput({ request }: Operation, input: Input): Input {
  const unknown = Object.keys(input).find((name) => !Object.hasOwn(request.properties, name))
  if (unknown !== undefined) throw toFieldError('input', 'must contain only fields of this operation')
  return input
}

/** Those that were given. A line break would begin another header. */
function readHeaders(operation: Operation, given: Input = {}): Input {
  const known = listHeaders(operation).map(({ name }) => name)
  const filled = Object.entries(given).filter(([, value]) => value.trim() !== '')
  for (const [name, value] of filled) {
    if (!known.includes(name)) throw toFieldError('headers', 'must contain only headers of this operation')
    if (!/^[\x20-\x7e]*$/.test(value))
      throw toFieldError(`headers.${name}`, 'must contain only ASCII letters, digits, signs and spaces')
  }
  return Object.fromEntries(filled.map(([name, value]) => [name.toLowerCase(), value.trim()]))
}

/** The call that the examples show. */
function toCall(
  { method, path, inputFrom }: Operation,
  input: Input,
  own: Input,
  base: string,
): LocalRequest {
  const headers = { ...own, host: new URL(base).host }
  if (inputFrom !== 'path')
    return {
      method,
      path,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(input),
    }
  const filled = path.replaceAll(/:([a-z]+)/g, (_hole, name: string) => encodeURIComponent(input[name] ?? ''))
  return { method, path: filled, headers }
}

const SHOWN_HEADERS = [
  'content-type',
  'tabbat-match',
  'idempotent-replayed',
  'preference-applied',
  'location',
  'x-request-id',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
]

function toTryResult(
  { status, headers, body }: LocalResponse,
  key: string,
  ms: number,
): Static<typeof TryResult> {
  const shown = SHOWN_HEADERS.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, String(value)]]
  })
  return {
    status,
    mode: status === 401 ? null : toMode(key),
    ms: Number(ms.toFixed(1)),
    headers: Object.fromEntries(shown) as Record<string, string>,
    body: JSON.parse(body.toString()) as unknown,
  }
}

const toMode = (key: string): Mode => (key.startsWith('tbt_live_') ? 'live' : 'test')

export const TRY_ROUTES: readonly AdminRoute[] = [listForms, tryOut]

type Scenario = TryForm['scenarios'][number]
type Lists = Pick<Context, 'catalogue' | 'config'>

/** A form for each operation, with the field names and descriptions of the contract. */
const listTryForms = (context: Lists): TryForm[] =>
  OPERATIONS.map((operation) => ({
    operation: operation.name,
    operation_id: operation.operationId,
    method: operation.method,
    path: operation.path,
    input_from: operation.inputFrom,
    summary: operation.summary,
    description: operation.description,
    fields: toFields(operation, context),
    headers: toHeaderFields(operation, context),
    scenarios: toScenarios(operation, context),
  }))

type Shape = { readonly description?: string; readonly examples?: readonly string[] }

function toFields({ request }: Operation, { catalogue }: Lists): TryForm['fields'] {
  const choices: Readonly<Record<string, readonly string[]>> = {
    provider: catalogue.providers,
    type: TV_TYPES,
  }
  const required = request.required as readonly string[]
  return Object.entries(request.properties as Readonly<Record<string, Shape>>).map(
    ([name, { description = '', examples = [] }]) => ({
      name,
      description,
      example: examples[0] ?? '',
      required: required.includes(name),
      choices: choices[name] ? [...choices[name]] : null,
    }),
  )
}

const listHeaders = ({ tag }: Operation) => (tag === 'Identity' ? VERIFICATION_HEADERS : [])

const PREFERENCES = ['respond-async', 'respond-async, wait=5']

const toHeaderFields = (operation: Operation, { config }: Lists): TryForm['headers'] =>
  listHeaders(operation).map(({ name, description, example }) => {
    const choices = { Prefer: PREFERENCES, 'X-Purpose': config.purposes }[name]
    return { name, description, example, required: false, choices: choices ? [...choices] : null }
  })

/** Inputs that the page offers as buttons. */
function toScenarios(operation: Operation, { catalogue }: Lists): Scenario[] {
  const example = toExampleInput(operation)
  if (operation.tag === 'Identity') return toSandboxScenarios(example, 'nin' in example ? 'nin' : 'bvn')
  if ('provider' in example)
    return catalogue.providers.map((provider) => ({
      title: `Bundles of ${provider}`,
      input: { provider },
    }))
  if ('productCode' in example)
    return TV_TYPES.flatMap((type) => {
      const product = catalogue.tvProducts.find((known) => known.type === type)
      return product
        ? [{ title: `Add-ons of ${product.name}`, input: { type, productCode: product.code } }]
        : []
    })
  return [{ title: 'All sizes', input: {} }]
}

function toSandboxScenarios(example: Readonly<Record<string, string>>, kind: 'nin' | 'bvn'): Scenario[] {
  const numbers = SANDBOX_NUMBERS.filter(({ use }) => use === 'phone' || use.includes(kind.toUpperCase()))
  return [
    { title: 'Verified: a synthetic person.', input: example },
    ...numbers.map(({ number, use, effect }) => ({
      title: effect.replaceAll('`', ''),
      input: { ...example, [use === 'phone' ? 'phone' : kind]: number },
    })),
  ]
}

/** The public sandbox key, where this server accepts it. */
const findSandboxKey = ({ config }: Pick<Context, 'config'>) =>
  hasPublicSandboxKey(config) ? SANDBOX_KEY : null

/** The key that a person has entered, or else the public sandbox key. */
export function readTryKey(context: Pick<Context, 'config'>, given: string | undefined): string {
  const key = given?.trim() || findSandboxKey(context)
  if (!key)
    throw new AdminError('refused', {
      message:
        'This server does not accept the public sandbox key. Create a test key on the page Keys and enter it here.',
    })
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new AppError('validation_failed', {
      errors: { key: ['key must contain only visible ASCII characters, without spaces'] },
    })
  return key
}
