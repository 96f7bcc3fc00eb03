import { resetSecondFactors } from '../../accounts/reset-second-factors.ts'
import { toSetupUrl } from '../../accounts/totp.ts'
import type { Actor } from '../../contract/role.ts'
import { toAccountDeps } from '../account-deps.ts'
import type { AdminDeps } from '../admin-deps.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { Ok } from '../shapes/fields.ts'
import { ConfirmTotp, FactorList, RecoveryCodes, TotpSetup } from '../shapes/second-factors.ts'

const tag = 'Session'
const done = { ok: true } as const

export const isFactorRequired = ({ context: { config } }: AdminDeps, { role }: Actor): boolean =>
  config.twoFactor !== 'off' && config.twoFactor.includes(role)

const list = defineRoute({
  name: 'list_factors',
  tag,
  method: 'GET',
  path: '/admin/session/factors',
  summary: 'Your second factors.',
  role: 'viewer',
  isForSetup: true,
  output: FactorList,
  run: ({ authentication }, { actor }) => authentication.factors.list(actor),
})

const beginTotp = defineRoute({
  name: 'begin_totp',
  tag,
  method: 'POST',
  path: '/admin/session/factors/totp/begin',
  summary: 'A secret for an authenticator app. It counts only when its first code is confirmed.',
  role: 'viewer',
  isForSetup: true,
  isSensitive: true,
  output: TotpSetup,
  run: async ({ authentication, addresses }, { actor, exchange }) => {
    const { secret, token } = await authentication.factors.beginTotp(actor)
    return { secret, token, url: toSetupUrl(secret, actor.name, addresses.hostOf(exchange)) }
  },
})

const confirmTotp = defineRoute({
  name: 'confirm_totp',
  tag,
  method: 'POST',
  path: '/admin/session/factors/totp/confirm',
  summary: 'Confirm an authenticator app by its first code. Ends your other sessions.',
  role: 'viewer',
  isForSetup: true,
  isSensitive: true,
  input: ConfirmTotp,
  output: RecoveryCodes,
  run: async ({ authentication }, { input, actor }) => ({
    recovery_codes: [...(await authentication.factors.confirmTotp(actor, input))],
  }),
})

const removeTotp = defineRoute({
  name: 'remove_totp',
  tag,
  method: 'POST',
  path: '/admin/session/factors/totp/remove',
  summary: 'Remove your authenticator app.',
  role: 'viewer',
  isSensitive: true,
  output: Ok,
  run: async (deps, { actor }) => {
    await deps.authentication.factors.removeTotp(actor, isFactorRequired(deps, actor))
    return done
  },
})

const renewRecoveryCodes = defineRoute({
  name: 'renew_recovery_codes',
  tag,
  method: 'POST',
  path: '/admin/session/factors/recovery-codes',
  summary: 'New recovery codes, returned only here. The old ones become void.',
  role: 'viewer',
  isSensitive: true,
  output: RecoveryCodes,
  run: async ({ authentication }, { actor }) => ({
    recovery_codes: [...(await authentication.factors.renewRecoveryCodes(actor))],
  }),
})

const reset = defineRoute({
  name: 'reset_factors',
  tag: 'Accounts',
  method: 'POST',
  path: '/admin/accounts/:name/reset-factors',
  summary: 'Delete the second factors of an account that has lost them. Ends its sessions.',
  role: 'owner',
  isSensitive: true,
  output: Ok,
  run: async (deps, { params, actor }) => {
    const { store } = deps.context
    await resetSecondFactors({ ...toAccountDeps(deps, actor), store }, params.name ?? '')
    return done
  },
})

export const FACTOR_ROUTES: readonly AdminRoute[] = [
  list,
  beginTotp,
  confirmTotp,
  removeTotp,
  renewRecoveryCodes,
  reset,
]
