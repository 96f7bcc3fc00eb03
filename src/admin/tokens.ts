import {
  type AdminTokenDeps,
  type AdminTokenOptions,
  createAdminToken,
  readTokenLifetime,
  revokeAdminToken,
  TOKEN_LIFETIME,
  toAdminTokenView,
} from '../accounts/admin-tokens.ts'
import type { Actor } from '../contract/role.ts'
import { type Static, Type } from '../contract/schema.ts'
import { readAddresses, readName } from '../keys/key-options.ts'
import type { AdminDeps } from './admin-deps.ts'
import { createFieldReader, Ok, RoleName, strict, Time } from './fields.ts'
import { type AdminRoute, defineRoute } from './route.ts'
import { Password } from './sessions.ts'

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

const tag = 'Tokens'

const toTokenDeps = ({ context }: AdminDeps, { name }: Actor): AdminTokenDeps => ({
  store: context.store,
  audit: context.audit,
  keyring: context.keyring(),
  by: name,
})

const list = defineRoute({
  name: 'list_tokens',
  tag,
  method: 'GET',
  path: '/admin/tokens',
  summary: 'Tokens of the admin API without their secrets, newest first.',
  role: 'owner',
  output: AdminTokens,
  run: async ({ context }) => ({ tokens: (await context.store.adminTokens.list()).map(toAdminTokenView) }),
})

const create = defineRoute({
  name: 'create_token',
  tag,
  method: 'POST',
  path: '/admin/tokens',
  summary: 'Create a token for scripts. It is returned only here. Needs the password again.',
  role: 'owner',
  input: CreateTokenRequest,
  output: CreatedToken,
  run: async (deps, { input, actor }) => {
    const options = readTokenOptions(input)
    await deps.authentication.confirmPassword(actor, input.password)
    const { text, row } = await createAdminToken(toTokenDeps(deps, actor), options)
    return { token: text, row: toAdminTokenView(row) }
  },
})

/** Uses the parsers of the command line. Reports every invalid field. */
function readTokenOptions(input: Static<typeof CreateTokenRequest>): AdminTokenOptions {
  const { read, requireValid } = createFieldReader()
  const addresses = input.allowed_ips?.join() || undefined
  const name = read('name', () => readName(input.name))
  const lifetimeMs = read('expires_in', () => readTokenLifetime(input.expires_in?.trim() || TOKEN_LIFETIME))
  const allowedIps = read('allowed_ips', () => addresses && readAddresses(addresses))
  requireValid()
  return {
    name: name ?? '',
    role: input.role,
    lifetimeMs: lifetimeMs ?? 0,
    allowedIps: allowedIps || undefined,
  }
}

const revoke = defineRoute({
  name: 'revoke_token',
  tag,
  method: 'POST',
  path: '/admin/tokens/:id/revoke',
  summary: 'Revoke a token. It stops working at once on every server.',
  role: 'owner',
  output: Ok,
  run: async (deps, { params, actor }) => {
    await revokeAdminToken(toTokenDeps(deps, actor), params.id ?? '')
    return { ok: true } as const
  },
})

export const TOKEN_ROUTES: readonly AdminRoute[] = [list, create, revoke]
