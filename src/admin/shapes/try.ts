import { type Static, Type } from '../../contract/schema.ts'
import { Mode, strict } from './fields.ts'

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
  /** The URL of the public API, for the examples. */
  base_url: Type.String(),
})
export type TryForms = Static<typeof TryForms>
export const TryRequest = Type.Object(
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
  strict,
)
export const TryResult = Type.Object({
  status: Type.Integer(),
  /** Null if the key was refused. */
  mode: Type.Nullable(Mode),
  ms: Type.Number(),
  headers: Type.Unsafe<Record<string, string>>({ type: 'object' }),
  body: Type.Unsafe<unknown>({}),
})
export type TryResult = Static<typeof TryResult>
