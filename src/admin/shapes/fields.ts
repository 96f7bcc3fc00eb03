import { ROLES } from '../../contract/role.ts'
import { Type } from '../../contract/schema.ts'
import { MODES, SCOPES } from '../../contract/scope.ts'

/** Times are ISO 8601 in UTC. */
export const Time = Type.String({ format: 'date-time' })
export const Mode = Type.Enum(MODES)
export const Scope = Type.Enum(SCOPES)
export const RoleName = Type.Enum(ROLES)
export const Kind = Type.Enum(['nin', 'bvn'] as const)
export const Operation = Type.String({
  description: 'For example verify_nin, as in logs and metrics.',
})

/** A text to search by. Without NUL, which PostgreSQL refuses in a text. */
export const searchText = (maxLength: number) =>
  Type.String({
    maxLength,
    pattern: '^[^\\u0000]*$',
    'x-rule': `must have at most ${maxLength} characters`,
  })

/** For input objects: unknown fields are refused. */
export const strict = { additionalProperties: false } as const

export const Ok = Type.Object({ ok: Type.Literal(true) })
