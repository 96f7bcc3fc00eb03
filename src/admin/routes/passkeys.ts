import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { toPasskeySite } from '../../accounts/passkey-site.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { AdminDeps } from '../admin-deps.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { readDeviceCookie } from '../session-cookie.ts'
import { Ok } from '../shapes/fields.ts'
import { AddPasskey, PasskeyOptions, RemovePasskey, UsePasskey } from '../shapes/passkeys.ts'
import { RecoveryCodes } from '../shapes/second-factors.ts'
import { Session } from '../shapes/session.ts'
import { isFactorRequired } from './second-factors.ts'
import { toOrigin, toSignedIn } from './session.ts'

const tag = 'Session'
const done = { ok: true } as const

const toSite = ({ addresses }: AdminDeps, exchange: Exchange) =>
  toPasskeySite(addresses.hostOf(exchange), addresses.isSecure(exchange))

const beginAdd = defineRoute({
  name: 'begin_passkey',
  tag,
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
  tag,
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
  tag,
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
  tag,
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
  tag,
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
  tag,
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
  tag,
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

export const PASSKEY_ROUTES: readonly AdminRoute[] = [
  beginAdd,
  finishAdd,
  remove,
  beginSignIn,
  signIn,
  beginConfirm,
  confirm,
]
