import { auditBy } from '../audit/audit-log.ts'
import { EVENT_TYPES, KEY_EVENTS } from '../contract/event.ts'
import type { Actor } from '../contract/role.ts'
import { type Static, Type } from '../contract/schema.ts'
import { HOUR_MS, steadyNow, toIsoTime } from '../contract/time.ts'
import { OVERLAP } from '../keys/key-options.ts'
import { MAX_COUNTED, toDeliveryView, toEndpointView, toTestView } from '../webhooks/endpoint-view.ts'
import {
  createEndpoint,
  deleteEndpoint,
  disableEndpoint,
  type EndpointDeps,
  enableEndpoint,
  findEndpoint,
  MAX_RESENT,
  type NewSecret,
  resendEvent,
  resendFailedEvents,
  rollEndpoint,
  testEndpoint,
} from '../webhooks/manage.ts'
import type { AdminDeps } from './admin-deps.ts'
import { toCsvFile } from './export-file.ts'
import { Ok, strict, Time } from './fields.ts'
import { readOverlap } from './keys.ts'
import { type AdminRoute, defineRoute } from './route.ts'

export const Endpoint = Type.Object({
  id: Type.String(),
  name: Type.String(),
  url: Type.String(),
  state: Type.Enum(['active', 'failing', 'disabled'] as const),
  events: Type.Array(Type.String()),
  /** The first key of each lineage. Empty: the endpoint belongs to the operator. */
  keys: Type.Array(Type.String()),
  /** Counted up to 10 000. */
  pending: Type.Integer(),
  created_at: Type.Nullable(Time),
  failing_since: Type.Nullable(Time),
  disabled_at: Type.Nullable(Time),
  disabled_reason: Type.Nullable(Type.Enum(['operator', 'gone', 'failing'] as const)),
  /** Until then, requests have a second signature by the secret before the last roll. */
  old_secret_until: Type.Nullable(Time),
})
export type Endpoint = Static<typeof Endpoint>

export const Endpoints = Type.Object({
  endpoints: Type.Array(Endpoint),
  events: Type.Array(Type.String()),
  /** Events of an endpoint that belongs to keys. */
  key_events: Type.Array(Type.String()),
})
export type Endpoints = Static<typeof Endpoints>

const CreateEndpointRequest = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 80, 'x-rule': 'must have 1 to 80 characters' }),
    url: Type.String({ minLength: 1, maxLength: 2000, 'x-rule': 'must have 1 to 2000 characters' }),
    events: Type.Array(Type.Enum(EVENT_TYPES), { minItems: 1, 'x-rule': 'must contain at least one event' }),
    keys: Type.Optional(Type.Array(Type.String({ maxLength: 40 }), { maxItems: 50 })),
  },
  strict,
)

/** `secret` is returned only here. */
export const CreatedEndpoint = Type.Object({ secret: Type.String(), row: Endpoint })
export type CreatedEndpoint = Static<typeof CreatedEndpoint>

const RollEndpointRequest = Type.Object({ overlap: Type.Optional(Type.String({ maxLength: 20 })) }, strict)

export const TestResult = Type.Object({
  ok: Type.Boolean(),
  status: Type.Nullable(Type.Integer()),
  duration_ms: Type.Integer(),
  problem: Type.Nullable(Type.String()),
  explanation: Type.String(),
})
export type TestResult = Static<typeof TestResult>

const Attempt = Type.Object({
  attempt: Type.Integer(),
  at: Time,
  status: Type.Nullable(Type.Integer()),
  duration_ms: Type.Integer(),
  problem: Type.Nullable(Type.String()),
})

export const EndpointReport = Type.Object({
  endpoint: Endpoint,
  /** Attempts in each hour of the last two days, oldest first. */
  hours: Type.Array(Type.Object({ at: Time, delivered: Type.Integer(), failed: Type.Integer() })),
})
export type EndpointReport = Static<typeof EndpointReport>

const ResendRequest = Type.Object({ since: Type.Optional(Time) }, strict)

export const Resent = Type.Object({
  resent: Type.Integer(),
  /** There may be more that failed. */
  is_cut: Type.Boolean(),
})

const DeliveriesRequest = Type.Object({ before: Type.Optional(Type.String({ maxLength: 60 })) }, strict)

export const Deliveries = Type.Object({
  deliveries: Type.Array(
    Type.Object({
      event_id: Type.String(),
      type: Type.String(),
      reference: Type.String(),
      state: Type.Enum(['pending', 'delivered', 'failed'] as const),
      next_attempt_at: Type.Nullable(Time),
      finished_at: Type.Nullable(Time),
      /** The JSON that is sent. It has no personal data. */
      body: Type.String(),
      attempts: Type.Array(Attempt),
    }),
  ),
  /** The value of `before` for the next page; null when there is none. */
  next: Type.Nullable(Type.String()),
})
export type Deliveries = Static<typeof Deliveries>

const tag = 'Webhooks'
const PAGE = 25

const toDeps = (deps: AdminDeps, actor: Actor): EndpointDeps => ({
  store: deps.context.store,
  keyring: deps.context.keyring(),
  audit: auditBy(deps, actor),
  allowPrivate: deps.context.config.webhooksPrivate === 'on',
})

const list = defineRoute({
  name: 'list_endpoints',
  tag,
  method: 'GET',
  path: '/admin/webhooks',
  summary: 'Endpoints of webhooks without their secrets, and the events that there are.',
  role: 'viewer',
  output: Endpoints,
  run: async ({ context: { store } }) => {
    const rows = await store.webhooks.list()
    const counts = await Promise.all(rows.map(({ id }) => store.deliveries.countPending(id, MAX_COUNTED)))
    return {
      endpoints: rows.map((row, index) => toEndpointView(row, counts[index] ?? 0)),
      events: [...EVENT_TYPES],
      key_events: [...KEY_EVENTS],
    }
  },
})

const HOURS = 48

const read = defineRoute({
  name: 'read_endpoint',
  tag,
  method: 'GET',
  path: '/admin/webhooks/:id',
  summary: 'One endpoint, and how its deliveries went in the last two days.',
  role: 'viewer',
  output: EndpointReport,
  run: async ({ context: { store } }, { params: { id = '' } }) => {
    const row = await findEndpoint({ store }, id)
    const first = Math.floor(steadyNow() / HOUR_MS) - HOURS + 1
    const counts = await store.deliveries.countAttempts(id, first * HOUR_MS)
    const byHour = new Map(counts.map((count) => [count.hour, count]))
    return {
      endpoint: toEndpointView(row, await store.deliveries.countPending(id, MAX_COUNTED)),
      hours: Array.from({ length: HOURS }, (_each, index) => ({
        at: toIsoTime((first + index) * HOUR_MS),
        delivered: byHour.get(first + index)?.delivered ?? 0,
        failed: byHour.get(first + index)?.failed ?? 0,
      })),
    }
  },
})

const toCreated = ({ secret, row }: NewSecret) => ({ secret, row: toEndpointView(row, 0) })

const create = defineRoute({
  name: 'create_endpoint',
  tag,
  method: 'POST',
  path: '/admin/webhooks',
  summary: 'Create an endpoint. Its secret is returned only here.',
  role: 'operator',
  input: CreateEndpointRequest,
  output: CreatedEndpoint,
  run: async (deps, { input: { name, url, events, keys = [] }, actor }) =>
    toCreated(await createEndpoint(toDeps(deps, actor), { name, url, events, keys })),
})

const roll = defineRoute({
  name: 'roll_endpoint',
  tag,
  method: 'POST',
  path: '/admin/webhooks/:id/roll',
  summary: 'Replace the secret of an endpoint. Both secrets sign until the overlap ends.',
  role: 'operator',
  input: RollEndpointRequest,
  output: CreatedEndpoint,
  run: async (deps, { input, params: { id = '' }, actor }) => {
    const overlapMs = readOverlap(input.overlap?.trim() || OVERLAP)
    return toCreated(await rollEndpoint(toDeps(deps, actor), id, overlapMs))
  },
})

const test = defineRoute({
  name: 'test_endpoint',
  tag,
  method: 'POST',
  path: '/admin/webhooks/:id/test',
  summary: 'Send a test event once, and return the response of the receiver.',
  role: 'operator',
  output: TestResult,
  run: async (deps, { params: { id = '' }, actor }) =>
    toTestView(await testEndpoint(toDeps(deps, actor), id, deps.context.webhooks.post)),
})

type Change = 'disable' | 'enable' | 'delete'
const CHANGES = { disable: disableEndpoint, enable: enableEndpoint, delete: deleteEndpoint } as const

const defineChange = (name: Change, summary: string) =>
  defineRoute({
    name: `${name}_endpoint`,
    tag,
    method: 'POST',
    path: `/admin/webhooks/:id/${name}`,
    summary,
    role: 'operator',
    output: Ok,
    run: async (deps, { params: { id = '' }, actor }) => {
      await CHANGES[name](toDeps(deps, actor), id)
      return { ok: true } as const
    },
  })

const deliveries = defineRoute({
  name: 'list_deliveries',
  tag,
  method: 'GET',
  path: '/admin/webhooks/:id/deliveries',
  summary: 'Events of an endpoint, the newest first, with every attempt.',
  role: 'viewer',
  input: DeliveriesRequest,
  output: Deliveries,
  run: async ({ context: { store } }, { input: { before }, params: { id = '' } }) => {
    await findEndpoint({ store }, id)
    const rows = await store.deliveries.list({ endpointId: id, most: PAGE, before })
    return {
      deliveries: rows.map(toDeliveryView),
      next: rows.length < PAGE ? null : (rows.at(-1)?.eventId ?? null),
    }
  },
})

const AT_ONCE = 200

const exportDeliveries = defineRoute({
  name: 'export_deliveries',
  tag,
  method: 'GET',
  path: '/admin/webhooks/:id/deliveries.csv',
  summary: 'All events of an endpoint as CSV, the newest first, with the last attempt of each.',
  role: 'viewer',
  stream: 'text/csv',
  output: Type.String(),
  run: async ({ context: { store } }, { params: { id = '' } }) => {
    const { id: endpointId } = await findEndpoint({ store }, id)
    return toCsvFile<Delivery, string>({
      title: 'deliveries',
      columns: DELIVERY_CELLS,
      readPage: async (before) => {
        const rows = await store.deliveries.list({ endpointId, most: AT_ONCE, before })
        return {
          rows: rows.map(toDeliveryView),
          next: rows.length < AT_ONCE ? undefined : rows.at(-1)?.eventId,
        }
      },
    })
  },
})

type Delivery = Deliveries['deliveries'][number]

const DELIVERY_CELLS: Readonly<Record<string, (delivery: Delivery) => unknown>> = {
  event_id: ({ event_id }) => event_id,
  type: ({ type }) => type,
  reference: ({ reference }) => reference,
  state: ({ state }) => state,
  attempts: ({ attempts }) => attempts.length,
  last_attempt_at: ({ attempts }) => attempts.at(-1)?.at,
  last_status: ({ attempts }) => attempts.at(-1)?.status,
  last_problem: ({ attempts }) => attempts.at(-1)?.problem,
  last_duration_ms: ({ attempts }) => attempts.at(-1)?.duration_ms,
  next_attempt_at: ({ next_attempt_at }) => next_attempt_at,
  finished_at: ({ finished_at }) => finished_at,
}

const resend = defineRoute({
  name: 'resend_event',
  tag,
  method: 'POST',
  path: '/admin/webhooks/:id/deliveries/:event/resend',
  summary: 'Send an event again, with the same id.',
  role: 'operator',
  output: Ok,
  run: async (deps, { params: { id = '', event = '' }, actor }) => {
    await resendEvent(toDeps(deps, actor), id, event)
    deps.context.webhooks.wake()
    return { ok: true } as const
  },
})

const resendFailed = defineRoute({
  name: 'resend_failed_events',
  tag,
  method: 'POST',
  path: '/admin/webhooks/:id/resend-failed',
  summary: 'Send the oldest events that were given up again, since a time if it is given, at most 1000.',
  role: 'operator',
  input: ResendRequest,
  output: Resent,
  run: async (deps, { input: { since }, params: { id = '' }, actor }) => {
    const resent = await resendFailedEvents(toDeps(deps, actor), id, since ? Date.parse(since) : 0)
    deps.context.webhooks.wake()
    return { resent, is_cut: resent === MAX_RESENT }
  },
})

export const WEBHOOK_ROUTES: readonly AdminRoute[] = [
  list,
  read,
  create,
  roll,
  test,
  defineChange('disable', 'Send nothing to an endpoint until it is enabled.'),
  defineChange('enable', 'Send events to a disabled endpoint again. What waited is sent now.'),
  defineChange('delete', 'Delete an endpoint with its secret and its deliveries.'),
  deliveries,
  exportDeliveries,
  resend,
  resendFailed,
]
