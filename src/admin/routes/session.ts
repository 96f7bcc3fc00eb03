import { lookAtInvitation } from '../../accounts/invitations.ts'
import { AdminError } from '../../contract/admin-error.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { AdminDeps } from '../admin-deps.ts'
import type { SignedIn } from '../people.ts'
import { type AdminRoute, defineRoute, WithHeaders } from '../route.ts'
import { readDeviceCookie, readSessionCookie, toDeviceCookie, toSessionCookie } from '../session-cookie.ts'
import {
  AcceptInvitation,
  ChangePassword,
  CurrentSession,
  Invitation,
  InvitationToken,
  Session,
  SignIn,
} from '../shapes/session.ts'
import { Done } from '../shapes/words.ts'

const room = 'Session'
const done = { ok: true } as const

const readSession = defineRoute({
  name: 'read_session',
  room,
  method: 'GET',
  path: '/admin/session',
  summary: 'Who is signed in, and until when. Asking does not make it longer.',
  role: 'anyone',
  output: CurrentSession,
  isBackground: true,
  run: async ({ people, addresses }, { exchange }) => {
    const token = readSessionCookie(exchange.headers.cookie, addresses.isSecure(exchange))
    const person = token === undefined ? undefined : await people.findPerson(token, { isBackground: true })
    return { session: (person && (await people.describe(person))) ?? null }
  },
})

const signIn = defineRoute({
  name: 'sign_in',
  room,
  method: 'POST',
  path: '/admin/session/sign-in',
  summary: 'Sign in; sets the cookie of the session.',
  role: 'anyone',
  input: SignIn,
  output: Session,
  run: async (desk, { input, exchange }) =>
    toSignedIn(
      desk,
      exchange,
      await desk.people.signIn({
        ...input,
        address: desk.addresses.callerOf(exchange),
        device: readDeviceCookie(exchange.headers.cookie, desk.addresses.isSecure(exchange)),
      }),
    ),
})

const signOut = defineRoute({
  name: 'sign_out',
  room,
  method: 'POST',
  path: '/admin/session/sign-out',
  summary: 'End this session.',
  role: 'viewer',
  output: Done,
  run: async ({ people, addresses }, { person, exchange }) => {
    await people.signOut(person)
    return new WithHeaders(done, ['set-cookie', toSessionCookie(undefined, addresses.isSecure(exchange))])
  },
})

const changePassword = defineRoute({
  name: 'change_password',
  room,
  method: 'POST',
  path: '/admin/session/password',
  summary: 'Change your own password; ends your other sessions.',
  role: 'viewer',
  input: ChangePassword,
  output: Done,
  run: async ({ people }, { input, person }) => {
    await people.changePassword(person, input)
    return done
  },
})

const lookInvitation = defineRoute({
  name: 'look_invitation',
  room,
  method: 'POST',
  path: '/admin/invitations/look',
  summary: 'What a one-time link stands for. The token is in the body, so that no log of addresses holds it.',
  role: 'anyone',
  input: InvitationToken,
  output: Invitation,
  run: ({ context }, { input }) => lookAtInvitation(context.store.people, input.token),
})

const accept = defineRoute({
  name: 'accept_invitation',
  room,
  method: 'POST',
  path: '/admin/invitations/accept',
  summary: 'Use a one-time link: makes the account, or sets its new password, and signs in.',
  role: 'anyone',
  input: AcceptInvitation,
  output: Session,
  run: async (desk, { input, exchange }) => toSignedIn(desk, exchange, await desk.people.accept(input)),
})

async function toSignedIn({ people, addresses }: AdminDeps, exchange: Exchange, tokens: SignedIn) {
  const isSecure = addresses.isSecure(exchange)
  const person = await people.findPerson(tokens.session, { isBackground: true })
  const session = person && (await people.describe(person))
  // Removed in this very moment.
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
  changePassword,
  lookInvitation,
  accept,
]
