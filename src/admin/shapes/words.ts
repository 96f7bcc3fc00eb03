import { Type } from '../../contract/schema.ts'
import { MODES, SCOPES } from '../../keys/api-key.ts'
import { ROLES } from '../role.ts'

/** Times are ISO 8601 in UTC. */
export const Time = Type.String({ format: 'date-time' })
export const Mode = Type.Enum(MODES)
export const Scope = Type.Enum(SCOPES)
export const RoleName = Type.Enum(ROLES)
export const Kind = Type.Enum(['nin', 'bvn'] as const)
export const Operation = Type.String({
  description: 'verify_nin, verify_bvn and so on, as in logs and metrics.',
})

/** An input object: nothing but what it names. */
export const asked = { additionalProperties: false } as const

export const Done = Type.Object({ ok: Type.Literal(true) })
