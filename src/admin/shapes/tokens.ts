import { type Static, Type } from '../../contract/schema.ts'
import { RoleName, strict, Time } from './fields.ts'
import { Password } from './session.ts'

/** A token of the admin API without its secret. */
const AdminToken = Type.Object({
  id: Type.String(),
  name: Type.String(),
  role: RoleName,
  state: Type.Enum(['active', 'revoked', 'expired'] as const),
  /** Null: any address. */
  allowed_ips: Type.Nullable(Type.Array(Type.String())),
  /** The account that created it, or `command line`. */
  made_by: Type.String(),
  created_at: Time,
  expires_at: Time,
  revoked_at: Type.Nullable(Time),
  /** Recorded once a minute. */
  last_used_at: Type.Nullable(Time),
})

export type AdminToken = Static<typeof AdminToken>

export const AdminTokens = Type.Object({ tokens: Type.Array(AdminToken) })
export type AdminTokens = Static<typeof AdminTokens>

export const CreateTokenRequest = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 80, 'x-rule': 'must have 1 to 80 characters' }),
    role: RoleName,
    /** A duration such as 12h, 90d, 1y. Absent: 90d. */
    expires_in: Type.Optional(Type.String({ maxLength: 20 })),
    /** Absent: any address. */
    allowed_ips: Type.Optional(Type.Array(Type.String({ maxLength: 60 }), { maxItems: 50 })),
    /** Absent for an account without a password, which confirms in another way. */
    password: Type.Optional(Password),
  },
  strict,
)
/** `token` is returned only here. */
export const CreatedToken = Type.Object({ token: Type.String(), row: AdminToken })
export type CreatedToken = Static<typeof CreatedToken>
