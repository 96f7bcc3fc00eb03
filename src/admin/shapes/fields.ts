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
  description: 'verify_nin, verify_bvn and so on, as in logs and metrics.',
})

/** A text to look something up by. PostgreSQL knows none with this character, and nothing here is called so. */
export const searchText = (maxLength: number) =>
  Type.String({
    maxLength,
    pattern: '^[^\\u0000]*$',
    'x-rule': `must be a text of at most ${maxLength} characters`,
  })

/** An input object: nothing but what it names. */
export const strict = { additionalProperties: false } as const

export const Ok = Type.Object({ ok: Type.Literal(true) })
