import { type Static, Type } from '../../contract/schema.ts'
import { STATUS_PATTERN } from '../../requests/search.ts'
import { Mode, strict, Time } from './fields.ts'

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
  key_id: text(20),
  mode: Type.Optional(Mode),
  operation: text(40),
  code: text(60),
  status: Type.Optional(
    Type.String({ pattern: STATUS_PATTERN, 'x-rule': 'must be a status such as 422, or 4xx or 5xx' }),
  ),
}

/** Requests that match all given fields, from now on. */
export const RequestTailQuery = Type.Object(FILTER, strict)
export type RequestTailQuery = Static<typeof RequestTailQuery>

/** Requests that match all given fields. Newest first; `before` takes the `next` of an earlier page. */
export const RequestQuery = Type.Object(
  {
    ...FILTER,
    from: Type.Optional(Time),
    to: Type.Optional(Time),
    before: Type.Optional(Type.String({ maxLength: 200 })),
  },
  strict,
)
export type RequestQuery = Static<typeof RequestQuery>

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
})
export type RequestList = Static<typeof RequestList>

export const RequestsOfVerification = Type.Object({ requests: Type.Array(RequestView) })
export type RequestsOfVerification = Static<typeof RequestsOfVerification>

export const StoredId = Type.Object({ request_id: Type.String() })
export const RequestIdInput = Type.Object(
  {
    request_id: Type.String({
      pattern: '^[\\w.-]{8,64}$',
      'x-rule': 'must be 8 to 64 letters, digits, dots, hyphens or underscores',
    }),
  },
  strict,
)

export const RequestRatesQuery = Type.Object(
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
  /** The most frequent code of the requests that were not answered. */
  top_code: Type.Nullable(Type.String()),
})

export const RequestRates = Type.Object({
  keys: Type.Array(KeyRateView),
  /** Requests without a valid key, by status. */
  keyless: Type.Array(Type.Object({ status: Type.Integer(), requests: Type.Integer() })),
})
export type RequestRates = Static<typeof RequestRates>
