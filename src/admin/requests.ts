import { setTimeout as pause } from 'node:timers/promises'
import { findKeyIds } from '../audit/audit-filter.ts'
import type { Context } from '../context/context.ts'
import { type Static, Type } from '../contract/schema.ts'
import { DAY_MS, HOUR_MS, steadyNow, toIsoTime } from '../contract/time.ts'
import { AppError, ERRORS } from '../errors.ts'
import { toListenerUrl } from '../http/address.ts'
import { readKeyNames } from '../keys/key-names.ts'
import { REQUEST_CODES, REQUEST_OPERATIONS, requestFilterErrors } from '../operations/request-filter.ts'
import { listCurlCommands } from '../reference/curl-command.ts'
import { isStoredId, toSearchedId } from '../requests/request-log.ts'
import {
  createTail,
  type RequestFilter,
  type RequestPosition,
  readKeyRates,
  STATUS_PATTERN,
  toRequestView,
} from '../requests/search.ts'
import type { AdminDeps } from './admin-deps.ts'
import { toCsvFile } from './export-file.ts'
import { Cursor, Mode, readCursor, searchText, strict, Time, toCursor } from './fields.ts'
import { type AdminRoute, defineRoute } from './route.ts'

/** One request of the request log. */
export const RequestView = Type.Object({
  /** Unique. */
  row: Type.String(),
  time: Time,
  /** A caller's own id that does not look random is shown as own_ and its keyed hash. */
  request_id: Type.String(),
  request_reference: Type.Nullable(Type.String()),
  key_id: Type.String(),
  /** Null: the key is not known any more. */
  key_name: Type.Nullable(Type.String()),
  mode: Type.String(),
  operation: Type.String(),
  method: Type.String(),
  /** 0: the caller closed the connection before the response. */
  status: Type.Integer(),
  code: Type.String(),
  duration_ms: Type.Number(),
  /** The names of the wrong fields. */
  fields: Type.Array(Type.String()),
})
export type RequestView = Static<typeof RequestView>

const text = (maxLength: number) =>
  Type.Optional(
    Type.String({
      maxLength,
      pattern: '^[\\w.-]*$',
      'x-rule': `must be at most ${maxLength} letters, digits, dots, hyphens or underscores`,
    }),
  )

const FILTER = {
  request_id: text(64),
  request_reference: text(64),
  /** The id of a key, or the name of one or several keys. */
  key: Type.Optional(searchText(100)),
  mode: Type.Optional(Mode),
  operation: text(40),
  code: text(60),
  status: Type.Optional(
    Type.String({
      pattern: STATUS_PATTERN,
      'x-rule': 'must be a status such as 422, or 4xx, 5xx or refused',
    }),
  ),
}

/** Requests that match all given fields, from now on. */
const RequestTailQuery = Type.Object(FILTER, strict)

/** Requests that match all given fields, in a period. */
const RequestPeriod = Type.Object({ ...FILTER, from: Type.Optional(Time), to: Type.Optional(Time) }, strict)

/** Newest first; `before` takes the `next` of an earlier page. */
const RequestQuery = Type.Object({ ...RequestPeriod.properties, before: Type.Optional(Cursor) }, strict)
type RequestQuery = Static<typeof RequestQuery>

export const RequestList = Type.Object({
  /** False: TABBAT_REQUESTS_KEEP is off. */
  recorded: Type.Boolean(),
  rows: Type.Array(RequestView),
  /** Cursor of the next page; null at the end. */
  next: Type.Nullable(Type.String()),
  /** Set when the search reached its limit before the page was full: continue with `next`. */
  searched_back_to: Type.Nullable(Time),
  /** Values for the form. */
  operations: Type.Array(Type.String()),
  codes: Type.Array(Type.String()),
  /** The request of each operation as a command, with $TABBAT_KEY and place-holders. */
  commands: Type.Record(Type.String()),
  /** What a caller is told with each code. */
  messages: Type.Record(Type.String()),
})
export type RequestList = Static<typeof RequestList>

export const RequestsOfVerification = Type.Object({ requests: Type.Array(RequestView) })
export type RequestsOfVerification = Static<typeof RequestsOfVerification>

const StoredId = Type.Object({ request_id: Type.String() })
const RequestIdInput = Type.Object(
  {
    request_id: Type.String({
      pattern: '^[\\w.-]{8,64}$',
      'x-rule': 'must be 8 to 64 letters, digits, dots, hyphens or underscores',
    }),
  },
  strict,
)

const RequestRatesQuery = Type.Object(
  { range: Type.Optional(Type.Enum(['hour', 'day', 'week'] as const)) },
  strict,
)

const KeyRateView = Type.Object({
  key_id: Type.String(),
  key_name: Type.Nullable(Type.String()),
  mode: Type.String(),
  requests: Type.Integer(),
  answered: Type.Integer(),
  refused: Type.Integer(),
  failed: Type.Integer(),
  broken_off: Type.Integer(),
  /** Why requests were not answered, the most frequent first. Status 0: the caller closed the connection. */
  codes: Type.Array(Type.Object({ code: Type.String(), status: Type.Integer(), requests: Type.Integer() })),
})

export const RequestRates = Type.Object({
  /** False: TABBAT_REQUESTS_KEEP is off. */
  recorded: Type.Boolean(),
  keys: Type.Array(KeyRateView),
  /** Requests without a valid key, by status. */
  keyless: Type.Array(Type.Object({ status: Type.Integer(), requests: Type.Integer() })),
})
export type RequestRates = Static<typeof RequestRates>

const MESSAGES = Object.fromEntries(Object.entries(ERRORS).map(([code, { message }]) => [code, message]))

const tag = 'Requests'

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
    const before = readCursor(input.before, toPosition)
    const names = await readKeyNames(store.keys)
    const filter = toFilter(config, names, input)
    const { rows, next, isCut } = await searches.find('requests', { filter, before })
    const origin = config.publicUrl ?? toListenerUrl(config, config)
    return {
      recorded: config.requestsKeep !== 'off',
      rows: rows.map((row) => toRequestView(row, names)),
      next: next ? toRequestCursor(next) : null,
      searched_back_to: isCut && next ? toIsoTime(next.at) : null,
      operations: [...REQUEST_OPERATIONS],
      codes: [...REQUEST_CODES],
      commands: listCurlCommands(origin),
      messages: MESSAGES,
    }
  },
})

const MAX_EXPORTED_AT_ONCE = 1000

const exportRequests = defineRoute({
  name: 'export_requests',
  tag,
  method: 'GET',
  path: '/admin/requests/export.csv',
  summary: 'All requests of the request log that a search finds, as CSV, newest first.',
  role: 'viewer',
  input: RequestPeriod,
  stream: 'text/csv',
  output: Type.String(),
  run: async ({ context: { store, config }, searches }, { input }) => {
    const names = await readKeyNames(store.keys)
    const filter = toFilter(config, names, input)
    return toCsvFile<RequestView, RequestPosition>({
      title: 'requests',
      columns: REQUEST_CELLS,
      readPage: async (before) => {
        const { rows, next } = await searches.find('requests', { filter, before, most: MAX_EXPORTED_AT_ONCE })
        return { rows: rows.map((row) => toRequestView(row, names)), next }
      },
    })
  },
})

const REQUEST_CELLS: Readonly<Record<string, (request: RequestView) => unknown>> = {
  time: ({ time }) => time,
  status: ({ status }) => status,
  code: ({ code }) => code,
  fields: ({ fields }) => fields.join(' '),
  method: ({ method }) => method,
  operation: ({ operation }) => operation,
  mode: ({ mode }) => mode,
  key_id: ({ key_id }) => key_id,
  key_name: ({ key_name }) => key_name,
  duration_ms: ({ duration_ms }) => duration_ms,
  request_id: ({ request_id }) => request_id,
  request_reference: ({ request_reference }) => request_reference,
}

type Config = AdminDeps['context']['config']

/** Empty fields do not filter. Lines that are older than TABBAT_REQUESTS_KEEP may not be deleted yet. */
function toFilter(
  { requestsKeep }: Config,
  keyNames: ReadonlyMap<string, string>,
  input: RequestQuery,
): RequestFilter {
  const { request_id: requestId, request_reference: reference, from, to } = input
  const key = input.key?.trim()
  const errors = requestFilterErrors(input, keyNames)
  if (requestId && !isStoredId(requestId))
    errors.request_id = ["request_id is a caller's own: POST /admin/requests/id returns its stored form"]
  if (Object.keys(errors).length > 0) throw new AppError('validation_failed', { errors })
  const oldest = requestsKeep === 'off' ? 0 : steadyNow() - requestsKeep
  const { mode, operation, code, status } = input
  const given = { requestId, reference, mode, operation, code, status }
  return {
    ...(key && { keyIds: findKeyIds(key, keyNames) }),
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
  summary:
    'New requests as server-sent events, a few seconds after they were answered. Those of this node also while the store is unavailable.',
  role: 'viewer',
  input: RequestTailQuery,
  output: Type.String(),
  stream: 'text/event-stream',
  worksWithoutStore: true,
  run: async ({ context }, { input, isStillAllowed }) => {
    // Read only for a key: without it, the stream begins also while the store is unavailable.
    const names = input.key ? await readKeyNames(context.store.keys) : new Map<string, string>()
    const { from: _from, until: _until, ...filter } = toFilter(context.config, names, input)
    return streamRequests(context, filter, isStillAllowed)
  },
})

const ofReference = defineRoute({
  name: 'list_requests_of_verification',
  tag,
  method: 'GET',
  path: '/admin/requests/verifications/:reference',
  summary:
    'The requests of one reference that the request log still has, oldest first, up to an hour after its last audit row. For later ones, search by request_reference. A request that was refused before anybody was looked up (429, 409) has a reference and no audit row: it is found too.',
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
  run: async ({ context: { store, config } }, { input: { range = 'day' } }) => {
    const names = await readKeyNames(store.keys)
    const { keys, keyless } = await readKeyRates(store.requests, steadyNow() - RANGES_MS[range])
    return {
      recorded: config.requestsKeep !== 'off',
      keys: keys.map(({ keyId, mode, requests, answered, refused, failed, brokenOff, codes }) => ({
        key_id: keyId,
        key_name: names.get(keyId) ?? null,
        mode,
        requests,
        answered,
        refused,
        failed,
        broken_off: brokenOff,
        codes: [...codes],
      })),
      keyless: keyless.map(({ status, count }) => ({ status, requests: count })),
    }
  },
})

export const REQUEST_ROUTES: readonly AdminRoute[] = [
  list,
  exportRequests,
  toStored,
  stream,
  rates,
  ofReference,
]

const toRequestCursor = ({ at, row }: RequestPosition) => toCursor(at, row)

const toPosition = ([at, row]: readonly unknown[]): RequestPosition | undefined =>
  Number.isSafeInteger(at) && typeof row === 'string' ? { at: at as number, row } : undefined

const POLL_MS = 2000
/** Requests that were answered before, and may not have been written when the page was loaded. */
const BEFORE_MS = 5000
/** Proxies close silent connections. */
const KEEP_ALIVE_MS = 15_000

/** New requests as server-sent events, until the session ends or the server stops. */
async function* streamRequests(
  { lifecycle, store, inMemory }: Context,
  filter: RequestFilter,
  isSignedIn: () => Promise<boolean>,
): AsyncIterable<string> {
  const tail = createTail(store.requests, filter, steadyNow() - BEFORE_MS, inMemory.requests)
  let names: Awaited<ReturnType<typeof readKeyNames>> = new Map()
  let sentAt = performance.now()
  yield ': begins\n\n'
  while (!lifecycle.stopping) {
    if (!(await isSignedIn())) {
      yield 'event: signed_out\ndata: {}\n\n'
      return
    }
    const { rows, isCut } = await tail()
    if (rows.length > 0) {
      // The last ones, while the store is unavailable.
      names = await readKeyNames(store.keys).catch(() => names)
      const views = rows.map((row) => toRequestView(row, names))
      sentAt = performance.now()
      yield `event: requests\ndata: ${JSON.stringify({ rows: views, is_cut: isCut })}\n\n`
    } else if (performance.now() - sentAt > KEEP_ALIVE_MS) {
      sentAt = performance.now()
      yield ': keep-alive\n\n'
    }
    await pause(POLL_MS, undefined, { ref: false })
  }
}
