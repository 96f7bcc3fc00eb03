import { type Static, Type } from '../../contract/schema.ts'
import { SIGN_IN_METHODS } from '../../contract/sign-in-method.ts'
import { RoleName, searchText, strict, Time } from './fields.ts'
import { FactorCode } from './second-factors.ts'

const AccountName = Type.String({
  pattern: '^[a-z0-9][a-z0-9._-]{1,39}$',
  'x-rule': 'must be 2 to 40 lower-case letters, digits, dots, hyphens or underscores',
})
export const NewPassword = Type.String({
  minLength: 12,
  maxLength: 200,
  'x-rule': 'must have at least 12 characters',
})
export const Password = Type.String({ minLength: 1, maxLength: 200, 'x-rule': 'is required' })
const Token = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', 'x-rule': 'is incomplete: copy the whole link' })

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
export const SignIn = Type.Object(
  { name: searchText(40), password: Password, code: Type.Optional(FactorCode) },
  strict,
)
export const ChangePassword = Type.Object({ current: Password, password: NewPassword }, strict)

export const ConfirmPassword = Type.Object({ password: Password }, strict)

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
export const EndedSessions = Type.Object({ ended: Type.Integer() })

/** The purpose of a one-time link. `name` is set if it resets the password of an account. */
export const Invitation = Type.Object({
  role: RoleName,
  name: Type.Nullable(AccountName),
  expires_at: Time,
})
export type Invitation = Static<typeof Invitation>
export const InvitationToken = Type.Object({ token: Token }, strict)
export const AcceptInvitation = Type.Object(
  { token: Token, name: AccountName, password: NewPassword, code: Type.Optional(FactorCode) },
  strict,
)

export const Account = Type.Object({
  name: AccountName,
  role: RoleName,
  has_second_factor: Type.Boolean(),
  created_at: Time,
  last_seen_at: Type.Nullable(Time),
})
export type Account = Static<typeof Account>
export const Accounts = Type.Object({ accounts: Type.Array(Account) })
export const Invite = Type.Object({ role: RoleName }, strict)
/** The token is returned only here; the page makes a link of it. */
export const OneTimeLink = Type.Object({ token: Token, role: RoleName, expires_at: Time })

/** A link that was created and not used yet. The link cannot be derived from the id. */
export const OpenInvitation = Type.Object({
  id: Type.String({ pattern: '^[0-9a-f]{12}$' }),
  role: RoleName,
  /** The account whose password it sets; null when it creates an account. */
  account: Type.Nullable(AccountName),
  made_by: Type.String(),
  created_at: Time,
  expires_at: Time,
})
export type OpenInvitation = Static<typeof OpenInvitation>
export const OpenInvitations = Type.Object({ invitations: Type.Array(OpenInvitation) })
export const ChangeRole = Type.Object({ role: RoleName }, strict)
