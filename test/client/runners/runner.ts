import { createInterface } from 'node:readline'
import { inspect } from 'node:util'
import { createTabbat, type Tabbat, TabbatError, webhooks } from '../../../packages/client/src/index.ts'
import { readRetryAfter, toDelayMs } from '../../../packages/client/src/retry.ts'

/** Makes the calls of scenarios.test.ts with @tabbat/client: a JSON line in, a JSON line out. */

type Json = Record<string, unknown>

const toMs = (seconds: unknown) => (typeof seconds === 'number' ? seconds * 1000 : undefined)

/** The names of the scenarios are those of the API; those of the client are of JavaScript. */
function toOptions({ timeout_s, idempotency_key, consent_reference, purpose, respond_async }: Json) {
  const all = {
    timeoutMs: toMs(timeout_s),
    idempotencyKey: idempotency_key,
    consentReference: consent_reference,
    purpose,
    respondAsync: respond_async,
  }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

const without = (args: Json, ...names: string[]) =>
  Object.fromEntries(Object.entries(args).filter(([name]) => !names.includes(name)))

const OPTIONS = ['timeout_s', 'idempotency_key', 'consent_reference', 'purpose', 'respond_async']

const CALLS: Record<string, (tabbat: Tabbat, args: Json) => Promise<unknown>> = {
  verify_nin: (tabbat, args) => tabbat.verifyNin(without(args, ...OPTIONS) as never, toOptions(args)),
  verify_bvn: (tabbat, args) => tabbat.verifyBvn(without(args, ...OPTIONS) as never, toOptions(args)),
  list_sme_bundles: (tabbat, args) => tabbat.listSmeBundles(toOptions(args)),
  list_internet_bundles: (tabbat, { provider }) => tabbat.listInternetBundles(String(provider)),
  list_tv_add_ons: (tabbat, { type, product_code }) =>
    tabbat.listTvAddOns({ type: String(type), productCode: String(product_code) }),
  pending_get: (tabbat, { reference }) => tabbat.pending.get(String(reference)),
  pending_cancel: (tabbat, { reference }) => tabbat.pending.cancel(String(reference)),
  batches_create: (tabbat, { rows }) => tabbat.batches.create(rows as never),
  batches_get: (tabbat, { batch_id }) => tabbat.batches.get(String(batch_id)),
  batches_results: (tabbat, { batch_id }) => Array.fromAsync(tabbat.batches.results(String(batch_id))),
  batches_cancel: (tabbat, { batch_id }) => tabbat.batches.cancel(String(batch_id)),
  webhook: (_tabbat, { headers, body, secret, tolerance_s }) =>
    webhooks.verify(headers as never, String(body), secret as never, { toleranceS: tolerance_s as number }),
  retry_after: async (_tabbat, { headers }) => (readRetryAfter(new Headers(headers as never)) ?? 0) / 1000,
  delays: async (_tabbat, { retries, retry_after_s }) =>
    Array.from({ length: 200 }, () => toDelayMs(Number(retries), toMs(retry_after_s)) / 1000),
}

/** A result is a plain object, which shows the person to whoever prints it: no texts of it. */
function describeResult(call: string, result: unknown): Json {
  const value = Object(result) as Json
  if (call === 'retry_after' || call === 'delays') return { kind: 'value', value: result }
  if (call === 'webhook') return { kind: 'event', ...value }
  if (call === 'batches_results') {
    const references = (result as { reference: unknown }[]).map(({ reference }) => reference)
    return { kind: 'rows', references }
  }
  if (Array.isArray(result)) return { kind: 'list', count: result.length, first: result[0] }
  if (result === undefined) return { kind: 'done' }
  if (call.startsWith('batches')) return { kind: 'batch', ...value }
  if (value.pending) return { kind: 'pending', ...value }
  return { kind: value.verified ? 'verified' : 'not_verified', ...value }
}

function describeError(error: unknown): Json {
  if (!(error instanceof TabbatError)) throw error
  return {
    kind: 'error',
    code: error.code,
    status: error.status,
    retryable: error.retryable,
    message: error.message,
    fields: Object.keys(error.fields ?? {}),
    has_request_id: error.requestId !== undefined,
    has_reference: error.reference !== undefined,
    ...(error.retryAfterMs !== undefined && { retry_after_s: error.retryAfterMs / 1000 }),
    texts: [
      String(error),
      error.stack ?? '',
      JSON.stringify(error),
      inspect(error, { depth: null, showHidden: true }),
      String(error.cause),
    ],
  }
}

let current = ''
let tabbat: Tabbat | undefined
for await (const line of createInterface({ input: process.stdin })) {
  const { scenario, client, call, args } = JSON.parse(line)
  let described: Json
  try {
    if (current !== scenario || !tabbat)
      tabbat = createTabbat({
        key: client.key,
        baseUrl: client.base_url,
        attemptTimeoutMs: toMs(client.attempt_timeout_s),
        maxRetries: client.max_retries,
      })
    current = scenario
    described = describeResult(call, await CALLS[call]?.(tabbat, args))
    described.texts = [
      ...((described.texts as string[]) ?? []),
      inspect(tabbat, { depth: null, showHidden: true }),
    ]
  } catch (error) {
    described = describeError(error)
  }
  process.stdout.write(`${JSON.stringify(described)}\n`)
}
