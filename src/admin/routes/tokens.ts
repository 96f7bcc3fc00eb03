import { toAdminTokenView } from '../../accounts/admin-token-view.ts'
import {
  type AdminTokenDeps,
  type AdminTokenOptions,
  createAdminToken,
  readTokenLifetime,
  revokeAdminToken,
  TOKEN_LIFETIME,
} from '../../accounts/admin-tokens.ts'
import type { Actor } from '../../contract/role.ts'
import type { Static } from '../../contract/schema.ts'
import { readAddresses, readName } from '../../keys/key-options.ts'
import type { AdminDeps } from '../admin-deps.ts'
import { createFieldReader } from '../field-reader.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { Ok } from '../shapes/fields.ts'
import { AdminTokens, CreatedToken, CreateTokenRequest } from '../shapes/tokens.ts'

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
