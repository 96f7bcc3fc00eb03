import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { toPasskeySite } from '../accounts/passkeys.ts'
import { resetSecondFactors } from '../accounts/second-factors.ts'
import { toSetupUrl } from '../accounts/totp.ts'
import type { Actor } from '../contract/role.ts'
import { type Static, Type } from '../contract/schema.ts'
import type { Exchange } from '../http/exchange.ts'
import { type AdminDeps, toAccountDeps } from './admin-deps.ts'
import { readDeviceCookie } from './authorize.ts'
import { done, Ok, strict, Time } from './fields.ts'
import { type AdminRoute, defineRoute } from './route.ts'
import { FactorCode, Session, toOrigin, toSignedIn } from './sessions.ts'

/** Bytes as base64url. */
const Bytes = Type.String({ pattern: '^[A-Za-z0-9_-]*$', maxLength: 8192 })
const CredentialId = Type.String({ pattern: '^[A-Za-z0-9_-]{1,1400}$' })

/** The answer of navigator.credentials.create(), as JSON. Browsers add more fields. */
const RegistrationResponse = Type.Object({
  id: CredentialId,
  rawId: CredentialId,
  type: Type.Literal('public-key'),
  response: Type.Object({
    clientDataJSON: Bytes,
    attestationObject: Bytes,
    transports: Type.Optional(Type.Array(Type.String({ maxLength: 40 }), { maxItems: 10 })),
  }),
  clientExtensionResults: Type.Object({}),
})

/** The answer of navigator.credentials.get(), as JSON. */
const UseResponse = Type.Object({
  id: CredentialId,
  rawId: CredentialId,
  type: Type.Literal('public-key'),
  response: Type.Object({
    clientDataJSON: Bytes,
    authenticatorData: Bytes,
    signature: Bytes,
    userHandle: Type.Optional(Bytes),
  }),
  clientExtensionResults: Type.Object({}),
})
const UsePasskey = Type.Object({ response: UseResponse }, strict)

const AddPasskey = Type.Object(
  { name: Type.String({ minLength: 1, maxLength: 60 }), response: RegistrationResponse },
  strict,
)

const RemovePasskey = Type.Object({ id: CredentialId }, strict)

/** For navigator.credentials of the browser: see WebAuthn Level 3. */
const PasskeyOptions = Type.Object({ challenge: Bytes }, { additionalProperties: true })

export const Passkey = Type.Object({
  id: CredentialId,
  name: Type.String(),
  /** The host name of the console for which it works. */
  host: Type.String(),
  created_at: Time,
  last_used_at: Type.Nullable(Time),
})
export type Passkey = Static<typeof Passkey>

export const FactorList = Type.Object({
  /** Since when the account has an authenticator app; null if it has none. */
  totp_since: Type.Nullable(Time),
  passkeys: Type.Array(Passkey),
  /** Recovery codes that were not used yet. */
  recovery_codes: Type.Integer(),
})
export type FactorList = Static<typeof FactorList>

/** `url` is for the picture that an authenticator app scans. */
export const TotpSetup = Type.Object({ secret: Type.String(), url: Type.String(), token: Type.String() })
export type TotpSetup = Static<typeof TotpSetup>

const ConfirmTotp = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: 200 }), code: FactorCode },
  strict,
)

/** Returned only here. Empty if the account has some already. */
export const RecoveryCodes = Type.Object({ recovery_codes: Type.Array(Type.String()) })
export type RecoveryCodes = Static<typeof RecoveryCodes>

const isFactorRequired = ({ context: { config } }: AdminDeps, { role }: Actor): boolean =>
  config.twoFactor !== 'off' && config.twoFactor.includes(role)

const list = defineRoute({
  name: 'list_factors',
  tag: 'Session',
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
  tag: 'Session',
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
  tag: 'Session',
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
  tag: 'Session',
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
  tag: 'Session',
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

const toSite = ({ addresses }: AdminDeps, exchange: Exchange) =>
  toPasskeySite(addresses.hostOf(exchange), addresses.isSecure(exchange))

const beginAdd = defineRoute({
  name: 'begin_passkey',
  tag: 'Session',
  method: 'POST',
  path: '/admin/session/factors/passkeys/begin',
  summary: 'Options with which the browser makes a passkey.',
  role: 'viewer',
  isForSetup: true,
  isSensitive: true,
  output: PasskeyOptions,
  run: async (deps, { actor, exchange }) => ({
    ...(await deps.authentication.passkeys.beginAdd(actor, toSite(deps, exchange))),
  }),
})

const finishAdd = defineRoute({
  name: 'add_passkey',
  tag: 'Session',
  method: 'POST',
  path: '/admin/session/factors/passkeys/add',
  summary: 'Add the passkey that the browser has made. Ends your other sessions.',
  role: 'viewer',
  isForSetup: true,
  isSensitive: true,
  input: AddPasskey,
  output: RecoveryCodes,
  run: async (deps, { input, actor, exchange }) => {
    const added = { name: input.name, response: input.response as RegistrationResponseJSON }
    const codes = await deps.authentication.passkeys.finishAdd(actor, toSite(deps, exchange), added)
    return { recovery_codes: [...codes] }
  },
})

const remove = defineRoute({
  name: 'remove_passkey',
  tag: 'Session',
  method: 'POST',
  path: '/admin/session/factors/passkeys/remove',
  summary: 'Remove one of your passkeys.',
  role: 'viewer',
  isSensitive: true,
  input: RemovePasskey,
  output: Ok,
  run: async (deps, { input, actor }) => {
    await deps.authentication.passkeys.remove(actor, input.id, isFactorRequired(deps, actor))
    return done
  },
})

const beginSignIn = defineRoute({
  name: 'begin_passkey_sign_in',
  tag: 'Session',
  method: 'POST',
  path: '/admin/session/passkey/begin',
  summary: 'Options with which the browser uses a passkey to sign in.',
  role: 'anyone',
  output: PasskeyOptions,
  run: async (deps, { exchange }) => ({
    ...(await deps.authentication.passkeys.beginSignIn(toSite(deps, exchange))),
  }),
})

const signIn = defineRoute({
  name: 'sign_in_with_passkey',
  tag: 'Session',
  method: 'POST',
  path: '/admin/session/passkey/sign-in',
  summary: 'Sign in with a passkey. Sets the session cookie.',
  role: 'anyone',
  input: UsePasskey,
  output: Session,
  run: async (deps, { input, exchange }) => {
    const { authentication, addresses } = deps
    const device = readDeviceCookie(exchange.headers.cookie, addresses.isSecure(exchange))
    const signedIn = await authentication.signInWithPasskey(toSite(deps, exchange), {
      ...toOrigin(deps, exchange),
      response: input.response as AuthenticationResponseJSON,
      device,
    })
    return toSignedIn(deps, exchange, signedIn)
  },
})

const beginConfirm = defineRoute({
  name: 'begin_passkey_confirmation',
  tag: 'Session',
  method: 'POST',
  path: '/admin/session/confirm/passkey/begin',
  summary: 'Options with which the browser uses one of your passkeys.',
  role: 'viewer',
  isForSetup: true,
  output: PasskeyOptions,
  run: async (deps, { actor, exchange }) => ({
    ...(await deps.authentication.passkeys.beginConfirm(actor, toSite(deps, exchange))),
  }),
})

const confirm = defineRoute({
  name: 'confirm_session_with_passkey',
  tag: 'Session',
  method: 'POST',
  path: '/admin/session/confirm/passkey',
  summary: 'Prove with a passkey who you are. Changes of accounts are then allowed for 10 minutes.',
  role: 'viewer',
  isForSetup: true,
  input: UsePasskey,
  output: Ok,
  run: async (deps, { input, actor, exchange }) => {
    const response = input.response as AuthenticationResponseJSON
    await deps.authentication.passkeys.confirm(actor, toSite(deps, exchange), response)
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
  beginAdd,
  finishAdd,
  remove,
  beginSignIn,
  signIn,
  beginConfirm,
  confirm,
]
