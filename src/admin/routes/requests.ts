import { toListenerUrl } from '../../config/listener-url.ts'
import { Type } from '../../contract/schema.ts'
import { DAY_MS, HOUR_MS, steadyNow, toIsoTime } from '../../contract/time.ts'
import { AppError, ERRORS } from '../../errors.ts'
import { readKeyNames } from '../../keys/key-names.ts'
import { OPERATIONS, RESOURCE_OPERATIONS } from '../../operations/operations.ts'
import { listCurlCommands } from '../../reference/curl-command.ts'
import { readKeyRates } from '../../requests/key-rates.ts'
import { toRequestView } from '../../requests/request-view.ts'
import type { RequestFilter } from '../../requests/search.ts'
import { isStoredId, toSearchedId } from '../../requests/stored-id.ts'
import type { AdminDeps } from '../admin-deps.ts'
import { readRequestCursor, toRequestCursor } from '../request-cursor.ts'
import { streamRequests } from '../request-stream.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import {
  RequestIdInput,
  RequestList,
  RequestQuery,
  RequestRates,
  RequestRatesQuery,
  RequestsOfVerification,
  RequestTailQuery,
  StoredId,
} from '../shapes/requests.ts'

const tag = 'Requests'

const OPERATION_NAMES = [...OPERATIONS, ...RESOURCE_OPERATIONS].map(({ name }) => name)
const CODES = ['ok', 'verified', 'cancelled', 'aborted', ...Object.keys(ERRORS)].toSorted()

const list = defineRoute({
  name: 'list_requests',
  tag,
  method: 'GET',
  path: '/admin/requests',
  summary: 'Search the request log, newest first.',
  role: 'viewer',
  isSearch: true,
  input: RequestQuery,
  output: RequestList,
  run: async ({ context: { store, config }, searches }, { input }) => {
    const before = input.before === undefined ? undefined : readRequestCursor(input.before)
    const filter = toFilter(config, input)
    const { rows, next, isCut } = await searches.find('requests', { filter, before })
    const names = await readKeyNames(store.keys)
    const origin = config.publicUrl ?? toListenerUrl(config, config)
    return {
      recorded: config.requestsKeep !== 'off',
      rows: rows.map((row) => toRequestView(row, names)),
      next: next ? toRequestCursor(next) : null,
      searched_back_to: isCut && next ? toIsoTime(next.at) : null,
      operations: [...OPERATION_NAMES, 'unknown'],
      codes: CODES,
      commands: listCurlCommands(origin),
    }
  },
})

type Config = AdminDeps['context']['config']

/** Empty fields do not filter. Lines that are older than TABBAT_REQUESTS_KEEP may not be deleted yet. */
function toFilter({ requestsKeep }: Config, input: RequestQuery): RequestFilter {
  const { request_id: requestId, request_reference: reference, key_id: keyId, from, to } = input
  if (requestId && !isStoredId(requestId))
    throw new AppError('validation_failed', {
      errors: {
        request_id: ["request_id is a caller's own: POST /admin/requests/id returns its stored form"],
      },
    })
  const oldest = requestsKeep === 'off' ? 0 : steadyNow() - requestsKeep
  const { mode, operation, code, status } = input
  const given = { requestId, reference, keyId, mode, operation, code, status }
  return {
    ...Object.fromEntries(Object.entries(given).filter(([, text]) => text !== undefined && text !== '')),
    from: from === undefined ? oldest : Math.max(oldest, Date.parse(from)),
    until: to === undefined ? undefined : Date.parse(to),
  }
}

const toStored = defineRoute({
  name: 'hash_request_id',
  tag,
  method: 'POST',
  path: '/admin/requests/id',
  summary:
    'The stored form of a request id. An id that a caller has chosen may be a number or a name: it goes in a body, not in a URL.',
  role: 'viewer',
  input: RequestIdInput,
  output: StoredId,
  run: async ({ context }, { input }) => ({
    request_id: toSearchedId(context.keyring()['request-id'], input.request_id),
  }),
})

const stream = defineRoute({
  name: 'stream_requests',
  tag,
  method: 'GET',
  path: '/admin/requests/events',
  summary: 'New requests as server-sent events, a few seconds after they were answered.',
  role: 'viewer',
  input: RequestTailQuery,
  output: Type.String(),
  stream: 'text/event-stream',
  isBackground: true,
  run: async ({ context }, { input, isStillAllowed }) => {
    const { from: _from, until: _until, ...filter } = toFilter(context.config, input)
    return streamRequests(context, filter, isStillAllowed)
  },
})

const ofReference = defineRoute({
  name: 'list_requests_of_verification',
  tag,
  method: 'GET',
  path: '/admin/requests/verifications/:reference',
  summary:
    'The requests of one verification that the request log still has, oldest first, up to an hour after its last audit row. For later ones, search by request_reference.',
  role: 'viewer',
  isSearch: true,
  output: RequestsOfVerification,
  run: async ({ context: { store }, searches }, { params: { reference = '' } }) => {
    const requests = await searches.find('requestsOf', { reference })
    const names = await readKeyNames(store.keys)
    return { requests: requests.map((request) => toRequestView(request, names)) }
  },
})

const RANGES_MS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS } as const

const rates = defineRoute({
  name: 'read_request_rates',
  tag,
  method: 'GET',
  path: '/admin/requests/rates',
  summary:
    'Requests and errors of each key, and the number of requests without a valid key by status. Counted in blocks of up to an hour.',
  role: 'viewer',
  input: RequestRatesQuery,
  output: RequestRates,
  run: async ({ context: { store } }, { input: { range = 'day' } }) => {
    const names = await readKeyNames(store.keys)
    const { keys, keyless } = await readKeyRates(store.requests, steadyNow() - RANGES_MS[range])
    return {
      keys: keys.map(({ keyId, mode, requests, answered, refused, failed, brokenOff, topCode }) => ({
        ...{ key_id: keyId, key_name: names.get(keyId) ?? null, mode, requests, answered, refused, failed },
        ...{ broken_off: brokenOff, top_code: topCode ?? null },
      })),
      keyless: keyless.map(({ status, count }) => ({ status, requests: count })),
    }
  },
})

export const REQUEST_ROUTES: readonly AdminRoute[] = [list, toStored, stream, rates, ofReference]
