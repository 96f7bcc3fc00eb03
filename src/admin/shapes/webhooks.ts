import { EVENT_TYPES } from '../../contract/event.ts'
import { type Static, Type } from '../../contract/schema.ts'
import { strict, Time } from './fields.ts'

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

export const CreateEndpointRequest = Type.Object(
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

export const RollEndpointRequest = Type.Object(
  { overlap: Type.Optional(Type.String({ maxLength: 20 })) },
  strict,
)

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

export const DeliveriesRequest = Type.Object(
  { before: Type.Optional(Type.String({ maxLength: 60 })) },
  strict,
)

export const Deliveries = Type.Object({
  deliveries: Type.Array(
    Type.Object({
      event_id: Type.String(),
      type: Type.String(),
      reference: Type.String(),
      state: Type.Enum(['pending', 'delivered', 'failed'] as const),
      next_attempt_at: Type.Nullable(Time),
      finished_at: Type.Nullable(Time),
      attempts: Type.Array(Attempt),
    }),
  ),
  /** The value of `before` for the next page; null when there is none. */
  next: Type.Nullable(Type.String()),
})
export type Deliveries = Static<typeof Deliveries>
