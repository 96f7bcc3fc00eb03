import { type Static, Type } from '../../contract/schema.ts'
import { SourceState } from './overview.ts'
import { Password } from './session.ts'
import { asked, Kind, Mode, Time } from './words.ts'

/* Sources */
export const SourceList = Type.Object({
  /** In the order of asking. `registry` is your own records. */
  nin_order: Type.Array(Type.String()),
  bvn_order: Type.Array(Type.String()),
  sources: Type.Array(SourceState),
  /** Vendors with settings, which can be checked. */
  can_check: Type.Array(Type.String()),
})
export type SourceList = Static<typeof SourceList>
export const SourceChecked = Type.Object({
  ok: Type.Boolean(),
  asked: Type.String(),
  result: Type.String(),
  ms: Type.Number(),
  explanation: Type.String(),
})

/* Try it */
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
  /** Where callers reach the API, for the examples to copy. */
  base_url: Type.String(),
})
export type TryForms = Static<typeof TryForms>
export const TryWish = Type.Object(
  {
    operation: Type.String({ maxLength: 60 }),
    input: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string', maxLength: 200 },
      maxProperties: 10,
    }),
    /** Absent: the public sandbox key. */
    key: Type.Optional(Type.String({ maxLength: 200 })),
  },
  asked,
)
export const Tried = Type.Object({
  status: Type.Integer(),
  /** Null when the key was refused. */
  mode: Type.Nullable(Mode),
  ms: Type.Number(),
  headers: Type.Unsafe<Record<string, string>>({ type: 'object' }),
  body: Type.Unsafe<unknown>({}),
})
export type Tried = Static<typeof Tried>

/* Records */
export const RecordCounts = Type.Object({
  nin: Type.Integer(),
  bvn: Type.Integer(),
  pictures: Type.Integer(),
})
const Number11 = Type.String({ pattern: '^[0-9]{11}$', 'x-rule': 'must be 11 digits' })
export const RecordWish = Type.Object({ kind: Kind, number: Number11 }, asked)
export const RevealWish = Type.Object(
  {
    kind: Kind,
    number: Number11,
    reason: Type.String({ minLength: 10, maxLength: 200, 'x-rule': 'must say why, in 10 to 200 characters' }),
    password: Password,
  },
  asked,
)
/** Fields by their dotted names. Masked: **** where there is something, empty where there is nothing. */
export const RecordView = Type.Object({
  found: Type.Boolean(),
  fields: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
})
export type RecordView = Static<typeof RecordView>

/* Settings */
export const SettingLine = Type.Object({
  name: Type.String(),
  about: Type.String(),
  is_secret: Type.Boolean(),
  /** Null for a secret, and for what is not set. */
  value: Type.Nullable(Type.String()),
  /** default, environment, .env, file (of a _FILE variable), unset. */
  origin: Type.Enum(['default', 'environment', '.env', 'file', 'unset'] as const),
})
export const SettingsView = Type.Object({
  version: Type.String(),
  node_version: Type.String(),
  started_at: Time,
  place: Type.String(),
  settings: Type.Array(SettingLine),
  unknown_settings: Type.Array(Type.String()),
  health: Type.Object({ ready: Type.Boolean(), audit: Type.Boolean(), workers: Type.Integer() }),
  root_key: Type.Object({
    version: Type.Integer(),
    /** file (beside the data), environment or key file. */
    origin: Type.String(),
    rotation_under_way: Type.Boolean(),
  }),
  checkpoints: Type.Object({ last_at: Type.Nullable(Time), folder: Type.String() }),
  warnings: Type.Array(Type.String()),
})
export type SettingsView = Static<typeof SettingsView>
