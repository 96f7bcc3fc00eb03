import { inspectInvitation } from '../accounts/invitations.ts'
import type { SessionTokens } from '../accounts/sessions.ts'
import {
  endSession,
  endSessions,
  listOpenSessions,
  toBrowserName,
  toSessionId,
  WITHOUT_ACTIVITY,
} from '../accounts/sessions.ts'
import { AdminError } from '../contract/error.ts'
import { SIGN_IN_METHODS } from '../contract/role.ts'
import { type Static, Type } from '../contract/schema.ts'
import type { Exchange } from '../http/exchange.ts'
import { type AdminDeps, toAccountDeps } from './admin-deps.ts'
import type { SessionOrigin } from './authentication.ts'
import { readDeviceCookie, readSessionCookie, toDeviceCookie, toSessionCookie } from './authorize.ts'
import { done, Ok, RoleName, searchText, strict, Time } from './fields.ts'
import { type AdminRoute, defineRoute, WithHeaders } from './route.ts'

export const AccountName = Type.String({
  pattern: '^[a-z0-9][a-z0-9._-]{1,39}$',
  'x-rule': 'must be 2 to 40 lower-case letters, digits, dots, hyphens or underscores',
})
const NewPassword = Type.String({
  minLength: 12,
  maxLength: 200,
  'x-rule': 'must have at least 12 characters',
})
export const Password = Type.String({ minLength: 1, maxLength: 200, 'x-rule': 'is required' })
export const Token = Type.String({
  pattern: '^[A-Za-z0-9_-]{43}$',
  'x-rule': 'is incomplete: copy the whole link',
})

/** The code of an authenticator app, or a recovery code. */
export const FactorCode = Type.String({
  maxLength: 40,
  pattern: '^[0-9A-Za-z\\s-]*$',
  'x-rule': 'must be a code of six digits or a recovery code',
})

const Method = Type.Enum(SIGN_IN_METHODS)

export const Session = Type.Object({
  name: AccountName,
  role: RoleName,
  method: Method,
  /** False for an account of single sign-on. */
  has_password: Type.Boolean(),
  /** The role requires a second factor, and this session has none: only the set-up of one is allowed. */
  must_set_up: Type.Boolean(),
  /** When the session ends without activity, and when it ends in any case. */
  idle_until: Time,
  expires_at: Time,
  version: Type.String(),
})
export type Session = Static<typeof Session>

/** Null if not signed in. Not an error, so that the page can check. */
export const CurrentSession = Type.Object({
  session: Type.Nullable(Session),
  /** Whether single sign-on is configured. */
  has_sso: Type.Boolean(),
})
export type CurrentSession = Static<typeof CurrentSession>

/** `code` is needed if the account has a second factor. */
const SignIn = Type.Object(
  { name: searchText(40), password: Password, code: Type.Optional(FactorCode) },
  strict,
)
const ChangePassword = Type.Object({ current: Password, password: NewPassword }, strict)

const ConfirmPassword = Type.Object({ password: Password }, strict)

/** A session that has not ended. The cookie cannot be derived from the id. */
export const OpenSession = Type.Object({
  id: Type.String({ pattern: '^[0-9a-f]{12}$' }),
  account: AccountName,
  method: Method,
  address: Type.Nullable(Type.String()),
  browser: Type.Nullable(Type.String()),
  created_at: Time,
  seen_at: Time,
  /** The session that asks. */
  is_own: Type.Boolean(),
})
export type OpenSession = Static<typeof OpenSession>
export const OpenSessions = Type.Object({ sessions: Type.Array(OpenSession) })
const EndedSessions = Type.Object({ ended: Type.Integer() })

/** The purpose of a one-time link. `name` is set if it resets the password of an account. */
export const Invitation = Type.Object({
  role: RoleName,
  name: Type.Nullable(AccountName),
  expires_at: Time,
})
export type Invitation = Static<typeof Invitation>
const InvitationToken = Type.Object({ token: Token }, strict)
const AcceptInvitation = Type.Object(
  { token: Token, name: AccountName, password: NewPassword, code: Type.Optional(FactorCode) },
  strict,
)

const readSession = defineRoute({
  name: 'read_session',
  tag: 'Session',
  method: 'GET',
  path: '/admin/session',
  summary: 'The current session. Does not extend it.',
  role: 'anyone',
  output: CurrentSession,
  run: async ({ authentication, addresses, context }, { exchange }) => {
    const token = readSessionCookie(exchange.headers.cookie, addresses.isSecure(exchange))
    const actor = token === undefined ? undefined : await authentication.findActor(token, WITHOUT_ACTIVITY)
    const session = (actor && (await authentication.describe(actor))) ?? null
    return { session, has_sso: context.config.oidcIssuer !== undefined }
  },
})

const signIn = defineRoute({
  name: 'sign_in',
  tag: 'Session',
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
  tag: 'Session',
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
  tag: 'Session',
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
  tag: 'Session',
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
  tag: 'Session',
  method: 'POST',
  path: '/admin/invitations/inspect',
  summary: 'The purpose of a one-time link. The token is in the body, so that no access log contains it.',
  role: 'anyone',
  input: InvitationToken,
  output: Invitation,
  run: ({ context }, { input }) =>
    inspectInvitation({ store: context.store, keyring: context.keyring() }, input.token),
})

const accept = defineRoute({
  name: 'accept_invitation',
  tag: 'Session',
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
  const actor = await authentication.findActor(tokens.session, WITHOUT_ACTIVITY)
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

const listOwn = defineRoute({
  name: 'list_own_sessions',
  tag: 'Session',
  method: 'GET',
  path: '/admin/session/all',
  summary: 'Your open sessions.',
  role: 'viewer',
  output: OpenSessions,
  run: async ({ context }, { actor }) => ({
    sessions: await listOpenSessions(context.store, actor.name, toSessionId(actor)),
  }),
})

const endOwn = defineRoute({
  name: 'end_own_session',
  tag: 'Session',
  method: 'POST',
  path: '/admin/session/all/:id/end',
  summary: 'End one of your sessions.',
  role: 'viewer',
  output: Ok,
  run: async (deps, { params, actor }) => {
    await endSession(toAccountDeps(deps, actor), actor.name, params.id ?? '')
    return done
  },
})

const endOthers = defineRoute({
  name: 'end_other_sessions',
  tag: 'Session',
  method: 'POST',
  path: '/admin/session/end-others',
  summary: 'End your other sessions.',
  role: 'viewer',
  output: EndedSessions,
  run: async (deps, { actor }) => ({
    ended: await endSessions(toAccountDeps(deps, actor), actor.name, toSessionId(actor)),
  }),
})

const list = defineRoute({
  name: 'list_sessions',
  tag: 'Accounts',
  method: 'GET',
  path: '/admin/accounts/:name/sessions',
  summary: 'The open sessions of an account.',
  role: 'owner',
  output: OpenSessions,
  run: async ({ context }, { params, actor }) => ({
    sessions: await listOpenSessions(context.store, params.name ?? '', toSessionId(actor)),
  }),
})

const endAll = defineRoute({
  name: 'end_sessions',
  tag: 'Accounts',
  method: 'POST',
  path: '/admin/accounts/:name/end-sessions',
  summary: 'End all sessions of an account.',
  role: 'owner',
  isSensitive: true,
  output: EndedSessions,
  run: async (deps, { params, actor }) => ({
    ended: await endSessions(toAccountDeps(deps, actor), params.name ?? ''),
  }),
})

export const SESSION_ROUTES: readonly AdminRoute[] = [
  readSession,
  signIn,
  signOut,
  confirm,
  changePassword,
  inspect,
  accept,
  listOwn,
  endOwn,
  endOthers,
  list,
  endAll,
]
