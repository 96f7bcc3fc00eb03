import { toBrowserName } from '../../accounts/browser-name.ts'
import { inspectInvitation } from '../../accounts/invitations.ts'
import type { SessionTokens } from '../../accounts/open-session.ts'
import { AdminError } from '../../contract/admin-error.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { AdminDeps } from '../admin-deps.ts'
import type { SessionOrigin } from '../authentication.ts'
import { type AdminRoute, defineRoute, WithHeaders } from '../route.ts'
import { readDeviceCookie, readSessionCookie, toDeviceCookie, toSessionCookie } from '../session-cookie.ts'
import { Ok } from '../shapes/fields.ts'
import {
  AcceptInvitation,
  ChangePassword,
  ConfirmPassword,
  CurrentSession,
  Invitation,
  InvitationToken,
  Session,
  SignIn,
} from '../shapes/session.ts'

const tag = 'Session'
const done = { ok: true } as const

const readSession = defineRoute({
  name: 'read_session',
  tag,
  method: 'GET',
  path: '/admin/session',
  summary: 'The current session. Does not extend it.',
  role: 'anyone',
  output: CurrentSession,
  isBackground: true,
  run: async ({ authentication, addresses, context }, { exchange }) => {
    const token = readSessionCookie(exchange.headers.cookie, addresses.isSecure(exchange))
    const actor =
      token === undefined ? undefined : await authentication.findActor(token, { isBackground: true })
    const session = (actor && (await authentication.describe(actor))) ?? null
    return { session, has_sso: context.config.oidcIssuer !== undefined }
  },
})

const signIn = defineRoute({
  name: 'sign_in',
  tag,
  method: 'POST',
  path: '/admin/session/sign-in',
  summary: 'Sign in. Sets the session cookie.',
  role: 'anyone',
  input: SignIn,
  output: Session,
  run: async (deps, { input, exchange }) =>
    toSignedIn(
      deps,
      exchange,
      await deps.authentication.signIn({
        ...input,
        ...toOrigin(deps, exchange),
        device: readDeviceCookie(exchange.headers.cookie, deps.addresses.isSecure(exchange)),
      }),
    ),
})

const signOut = defineRoute({
  name: 'sign_out',
  tag,
  method: 'POST',
  path: '/admin/session/sign-out',
  summary: 'End this session.',
  role: 'viewer',
  isForSetup: true,
  output: Ok,
  run: async ({ authentication, addresses }, { actor, exchange }) => {
    await authentication.signOut(actor)
    return new WithHeaders(done, ['set-cookie', toSessionCookie(undefined, addresses.isSecure(exchange))])
  },
})

const confirm = defineRoute({
  name: 'confirm_session',
  tag,
  method: 'POST',
  path: '/admin/session/confirm',
  summary: 'Enter your password again. Changes of accounts are then allowed for 10 minutes.',
  role: 'viewer',
  isForSetup: true,
  input: ConfirmPassword,
  output: Ok,
  run: async ({ authentication }, { input, actor }) => {
    await authentication.confirmSession(actor, input.password)
    return done
  },
})

const changePassword = defineRoute({
  name: 'change_password',
  tag,
  method: 'POST',
  path: '/admin/session/password',
  summary: 'Change your password. Ends your other sessions.',
  role: 'viewer',
  isForSetup: true,
  input: ChangePassword,
  output: Ok,
  run: async ({ authentication }, { input, actor }) => {
    await authentication.changePassword(actor, input)
    return done
  },
})

const inspect = defineRoute({
  name: 'inspect_invitation',
  tag,
  method: 'POST',
  path: '/admin/invitations/inspect',
  summary: 'The purpose of a one-time link. The token is in the body, so that no access log contains it.',
  role: 'anyone',
  input: InvitationToken,
  output: Invitation,
  run: ({ context }, { input }) => inspectInvitation(context.store.accounts, input.token),
})

const accept = defineRoute({
  name: 'accept_invitation',
  tag,
  method: 'POST',
  path: '/admin/invitations/accept',
  summary: 'Use a one-time link: create the account or set its new password, then sign in.',
  role: 'anyone',
  input: AcceptInvitation,
  output: Session,
  run: async (deps, { input, exchange }) =>
    toSignedIn(deps, exchange, await deps.authentication.accept(input, toOrigin(deps, exchange))),
})

export const toOrigin = ({ addresses }: AdminDeps, exchange: Exchange): SessionOrigin => ({
  address: addresses.callerOf(exchange),
  browser: toBrowserName(exchange.headers['user-agent']),
})

export async function toSignedIn(
  { authentication, addresses }: AdminDeps,
  exchange: Exchange,
  tokens: SessionTokens,
) {
  const isSecure = addresses.isSecure(exchange)
  const actor = await authentication.findActor(tokens.session, { isBackground: true })
  const session = actor && (await authentication.describe(actor))
  // The account was removed at this moment.
  if (!session) throw new AdminError('signed_out')
  return new WithHeaders(session, [
    'set-cookie',
    toSessionCookie(tokens.session, isSecure),
    'set-cookie',
    toDeviceCookie(tokens.device, isSecure),
  ])
}

export const SESSION_ROUTES: readonly AdminRoute[] = [
  readSession,
  signIn,
  signOut,
  confirm,
  changePassword,
  inspect,
  accept,
]
