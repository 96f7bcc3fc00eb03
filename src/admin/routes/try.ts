import type { AddressInfo } from 'node:net'
import { toListenerUrl } from '../../config/listener-url.ts'
import type { Static } from '../../contract/schema.ts'
import type { Mode } from '../../contract/scope.ts'
import { AppError } from '../../errors.ts'
import { type LocalRequest, type LocalResponse, requestLocally } from '../../http/local-request.ts'
import type { Operation } from '../../operations/operation.ts'
import { OPERATIONS } from '../../operations/operations.ts'
import type { AdminDeps } from '../admin-deps.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { TryForms, TryRequest, TryResult } from '../shapes/try.ts'
import { listTryForms } from '../try-forms.ts'
import { findSandboxKey, readTryKey } from '../try-key.ts'

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
function toBaseUrl({ context: { config }, api }: AdminDeps): string {
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
    const call = toCall(operation, readInput(operation, request.input), key, toBaseUrl(deps))
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

/** The call that the examples show. */
function toCall(
  { method, path, inputFrom }: Operation,
  input: Input,
  key: string,
  base: string,
): LocalRequest {
  const headers = { authorization: `Bearer ${key}`, host: new URL(base).host }
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
