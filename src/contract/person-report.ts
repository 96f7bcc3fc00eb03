import { type Static, Type } from './schema.ts'

const Text = Type.Nullable(Type.String())
const Time = Type.String({ format: 'date-time' })

/** Fields by their dotted names. A hidden value is **** if the field is filled, else empty. */
const Fields = Type.Array(Type.Object({ name: Type.String(), value: Type.String() }))

/** The API key that asked. The name is null if the key is unknown. */
const byKey = { key_id: Text, key_name: Text, mode: Text, operation: Text }

const Held = Type.Object({
  /** Of the operator's own registry. */
  record: Type.Nullable(Type.Object({ updated_at: Time, fields: Fields })),
  picture: Type.Nullable(
    Type.Object({ media_type: Type.String(), bytes: Type.Integer(), base64: Type.Nullable(Type.String()) }),
  ),
  /** Responses kept under Idempotency-Keys, to be replayed. */
  kept_answers: Type.Array(
    Type.Object({
      ...byKey,
      request_reference: Text,
      outcome: Text,
      kept_until: Time,
      fields: Fields,
    }),
  ),
  /** Verifications in the queue: questions that wait, and answers that are kept. */
  queued: Type.Array(
    Type.Object({
      ...byKey,
      request_reference: Type.String(),
      state: Type.String(),
      batch: Text,
      accepted_at: Time,
      kept_until: Time,
      fields: Fields,
    }),
  ),
  /** Rows of batches. `label` is the caller's own word for the row. */
  batch_rows: Type.Array(
    Type.Object({
      ...byKey,
      batch: Type.String(),
      line: Type.Integer(),
      request_reference: Type.String(),
      is_waiting: Type.Boolean(),
      label: Type.String(),
    }),
  ),
  /** Results of vendors that may be reused (TABBAT_REUSE). */
  reused_results: Type.Array(Type.Object({ source: Type.String(), kept_until: Time, fields: Fields })),
  /** Failed matches of the last day, counted under a keyed hash of the number. */
  failed_matches: Type.Integer(),
})

export const PersonRequest = Type.Object({
  ...byKey,
  request_reference: Type.String(),
  started_at: Time,
  ended_at: Type.Nullable(Time),
  /** Null while there is none. */
  outcome: Text,
  fields_released: Type.Array(Type.String()),
  consent_reference: Text,
  purpose: Text,
  amount: Text,
  /** Sources that were called or skipped, in order. */
  sources: Type.Array(Type.Object({ name: Type.String(), result: Type.String(), ms: Type.Number() })),
  /** When the answer was given again. */
  replayed_at: Type.Array(Time),
})
export type PersonRequest = Static<typeof PersonRequest>

/** All that is held and recorded about one number: for a request of access (NDPA 2023). */
export const PersonReport = Type.Object({
  /** Who answers: the name, then lines of the address (TABBAT_ORGANISATION). */
  organisation: Type.Array(Type.String()),
  generated_at: Time,
  generated_by: Type.String(),
  reason: Type.String(),
  /** True: of `tabbat demo`. The person does not exist. */
  demonstration: Type.Boolean(),
  kind: Type.Enum(['nin', 'bvn'] as const),
  /** All but the last four digits are hidden. */
  number: Type.String(),
  values: Type.Enum(['shown', 'hidden'] as const),
  held: Held,
  /** Who asked, oldest first. */
  requests: Type.Array(PersonRequest),
  /** Other rows of the audit log about this number, oldest first. */
  accesses: Type.Array(
    Type.Object({ time: Time, what: Type.String(), key_name: Text, outcome: Text, detail: Text }),
  ),
  erased_at: Type.Array(Time),
  /** What the report cannot know. */
  limits: Type.Array(Type.String()),
})
export type PersonReport = Static<typeof PersonReport>
