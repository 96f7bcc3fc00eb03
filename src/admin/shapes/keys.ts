import { REQUIRE_MATCH } from '../../contract/person-details.ts'
import { type Static, Type } from '../../contract/schema.ts'
import { Kind, Mode, Scope, strict, Time } from './fields.ts'

const RequireMatch = Type.Enum(Object.keys(REQUIRE_MATCH) as (keyof typeof REQUIRE_MATCH)[])

export const Key = Type.Object({
  id: Type.String(),
  name: Type.String(),
  mode: Mode,
  state: Type.Enum(['active', 'revoked', 'expired'] as const),
  scopes: Type.Array(Scope),
  allowed_ips: Type.Nullable(Type.Array(Type.String())),
  /** Fingerprints of TLS client certificates, as sha256:<hex>. */
  client_certs: Type.Nullable(Type.Array(Type.String())),
  hide: Type.Array(Type.String()),
  reveal: Type.Array(Type.String()),
  requires_consent: Type.Boolean(),
  /** A verification becomes pending when no source can answer. */
  async_when_down: Type.Boolean(),
  /** Details that must be given and must match. */
  require_match: Type.Nullable(RequireMatch),
  owner: Type.Nullable(Type.String()),
  note: Type.Nullable(Type.String()),
  subjects_per_day: Type.Integer(),
  created_at: Type.Nullable(Time),
  expires_at: Type.Nullable(Time),
  revoked_at: Type.Nullable(Time),
  rolled_to: Type.Nullable(Type.String()),
})
export type Key = Static<typeof Key>

/** Verifications of the last 30 days, and the hour of the last one. */
const usage = { verifications_30d: Type.Integer(), last_used_at: Type.Nullable(Time) }
export const KeyWithUsage = Type.Object({ ...Key.properties, ...usage })
export type KeyWithUsage = Static<typeof KeyWithUsage>

/** Fields that a key may hide or reveal, by group, in contract order. */
export const FieldGroup = Type.Object({
  group: Type.String(),
  fields: Type.Array(
    Type.Object({
      name: Type.String(),
      hidden_by_default: Type.Boolean(),
      /** Hidden too if one of these is hidden. */
      derived_from: Type.Array(Type.String()),
    }),
  ),
})
export const Keys = Type.Object({
  keys: Type.Array(KeyWithUsage),
  scopes: Type.Array(Scope),
  field_groups: Type.Array(FieldGroup),
  subjects_per_day_default: Type.Integer(),
})
export type Keys = Static<typeof Keys>

const Fields = Type.Array(Type.String({ maxLength: 100 }), { maxItems: 100 })
export const CreateKeyRequest = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 80, 'x-rule': 'must have 1 to 80 characters' }),
    mode: Mode,
    scopes: Type.Array(Scope, { minItems: 1, 'x-rule': 'must contain at least one scope' }),
    /** A duration such as 12h, 90d, 1y. Absent: never. */
    expires_in: Type.Optional(Type.String({ maxLength: 20 })),
    allowed_ips: Type.Optional(Type.Array(Type.String({ maxLength: 60 }), { maxItems: 50 })),
    client_certs: Type.Optional(Type.Array(Type.String({ maxLength: 110 }), { maxItems: 8 })),
    hide: Type.Optional(Fields),
    reveal: Type.Optional(Fields),
    subjects_per_day: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000_000 })),
    requires_consent: Type.Optional(Type.Boolean()),
    async_when_down: Type.Optional(Type.Boolean()),
    require_match: Type.Optional(RequireMatch),
    /** The team that answers for the key. */
    owner: Type.Optional(Type.String({ maxLength: 80 })),
    note: Type.Optional(Type.String({ maxLength: 500 })),
  },
  strict,
)
const orNull = <T extends Parameters<typeof Type.Nullable>[0]>(type: T) => Type.Optional(Type.Nullable(type))
/** Absent: unchanged. Null, or an empty list: removed. */
export const ChangeKeyRequest = Type.Object(
  {
    name: Type.Optional(CreateKeyRequest.properties.name),
    scopes: Type.Optional(CreateKeyRequest.properties.scopes),
    /** A duration from now, such as 90d. Null: never. */
    expires_in: orNull(Type.String({ maxLength: 20 })),
    allowed_ips: orNull(Type.Array(Type.String({ maxLength: 60 }), { maxItems: 50 })),
    client_certs: orNull(Type.Array(Type.String({ maxLength: 110 }), { maxItems: 8 })),
    hide: Type.Optional(Fields),
    reveal: Type.Optional(Fields),
    subjects_per_day: orNull(Type.Integer({ minimum: 1, maximum: 100_000_000 })),
    requires_consent: Type.Optional(Type.Boolean()),
    async_when_down: Type.Optional(Type.Boolean()),
    require_match: orNull(RequireMatch),
    owner: orNull(Type.String({ maxLength: 80 })),
    note: orNull(Type.String({ maxLength: 500 })),
  },
  strict,
)
export const ChangedKey = Type.Object({ row: Key })
/** `key` is returned only here. */
export const CreatedKey = Type.Object({ key: Type.String(), row: Key })
export type CreatedKey = Static<typeof CreatedKey>
export const RollKeyRequest = Type.Object({ overlap: Type.Optional(Type.String({ maxLength: 20 })) }, strict)

/** A response for a key with this field policy, about a synthetic person. */
export const PreviewRequest = Type.Object({ kind: Kind, hide: Fields, reveal: Fields }, strict)
export const Preview = Type.Object({ answer: Type.Unsafe<Record<string, unknown>>({ type: 'object' }) })
