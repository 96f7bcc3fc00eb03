import { ERRORS, type ErrorCode } from '../errors.ts'
import { exactly, type Static, Type, text } from './schema.ts'

export type AdminErrorCode =
  | 'signed_out'
  | 'wrong_password'
  | 'wrong_token'
  | 'token_refused'
  | 'address_refused'
  | 'session_required'
  | 'invitation_void'
  | 'confirm_first'
  | 'second_factor_needed'
  | 'wrong_code'
  | 'wrong_passkey'
  | 'set_up_second_factor'
  | 'sso_failed'
  | 'sso_expired'
  | 'sso_unavailable'
  | 'sso_no_role'
  | 'sso_name_taken'
  | 'wrong_role'
  | 'foreign_origin'
  | 'unknown_host'
  | 'too_many_tries'
  | 'too_many_streams'
  | 'too_many_searches'
  | 'body_too_large'
  | 'refused'

/** Errors of the admin API, in addition to those of the public API. */
export const ADMIN_ERRORS: Readonly<
  Record<AdminErrorCode, { readonly status: number; readonly message: string }>
> = {
  signed_out: { status: 401, message: 'Sign in first.' },
  wrong_password: { status: 401, message: 'The name or the password is wrong.' },
  wrong_token: {
    status: 401,
    message: 'The bearer token is missing or wrong. Send the value of TABBAT_METRICS_TOKEN.',
  },
  token_refused: {
    status: 401,
    message:
      'The token is not valid: it is incomplete, has expired, was revoked, or never existed. See: tabbat tokens list',
  },
  address_refused: { status: 403, message: 'This token may not be used from this address.' },
  session_required: {
    status: 403,
    message: 'A token may not do this. Sign in to the console, or use the command line.',
  },
  invitation_void: {
    status: 410,
    message:
      'This link is not valid: it was used, has expired, or never existed. Ask an owner for a new one.',
  },
  confirm_first: {
    status: 403,
    message:
      'This needs a proof of who you are in the last 10 minutes. Enter your password again; with single sign-on, sign in again at the provider.',
  },
  second_factor_needed: {
    status: 401,
    message: 'Enter the code of your authenticator app, or a recovery code.',
  },
  wrong_code: {
    status: 401,
    message: 'The code is wrong or was used before. Wait for the next one, or use a recovery code.',
  },
  wrong_passkey: {
    status: 401,
    message:
      'This passkey is not known here, or its answer was not accepted. Try again, or sign in with your password.',
  },
  set_up_second_factor: {
    status: 403,
    message: 'Your role requires a second factor. Set one up first, on the page Your account.',
  },
  sso_failed: { status: 401, message: 'The identity provider did not confirm the sign-in. Try again.' },
  sso_expired: {
    status: 401,
    message: 'The sign-in took too long, or was begun in another browser. Try again.',
  },
  sso_unavailable: {
    status: 503,
    message: 'The identity provider cannot be reached. Try again later, or sign in with a password.',
  },
  sso_no_role: {
    status: 403,
    message: 'Your account at the identity provider has no role here. Ask an owner.',
  },
  sso_name_taken: {
    status: 409,
    message:
      'Another account here has your name. Ask an owner to remove it, or to choose another claim for names.',
  },
  wrong_role: { status: 403, message: 'Your role does not allow this. Ask an owner.' },
  foreign_origin: { status: 403, message: 'The request came from another site. Open the console directly.' },
  unknown_host: {
    status: 421,
    message: 'This host name is not allowed for the admin listener. Add it to TABBAT_ADMIN_NAMES.',
  },
  too_many_tries: {
    status: 429,
    message: 'Too many attempts. Wait for the number of seconds in Retry-After.',
  },
  too_many_streams: {
    status: 429,
    message: 'Too many open streams (live pages and exports). Close some of them.',
  },
  too_many_searches: {
    status: 429,
    message: 'Too many searches of this session are waiting. Wait until some of them have ended.',
  },
  body_too_large: { status: 413, message: 'The request body is too large.' },
  refused: { status: 409, message: '' },
}

/** A request of the console that is refused, with the reason. */
export class AdminError extends Error {
  readonly code: AdminErrorCode
  readonly headers: readonly string[]

  constructor(
    code: AdminErrorCode,
    { message = ADMIN_ERRORS[code].message, headers = [] as readonly string[] } = {},
  ) {
    super(message)
    this.name = 'AdminError'
    this.code = code
    this.headers = headers
  }
}

const codes = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => code !== 'unauthenticated')

/** The body of every error but 401. */
export const ErrorBody = Type.Object(
  {
    success: Type.Literal(false),
    code: Type.Unsafe<ErrorCode>({
      type: 'string',
      enum: codes,
      description: 'What happened, for programs.',
    }),
    message: text('What happened, for people.'),
    retryable: Type.Boolean({ description: 'Whether the same request may succeed later.' }),
    request_id: text('The X-Request-Id of this answer.', 'req_4f1c2a9be0d84c6f9a7d3e5b1c8f0a62'),
    errors: Type.Optional(
      Type.Record(Type.Array(Type.String()), {
        description: 'Every bad field, and what is wrong with it.',
      }),
    ),
    data: Type.Optional(
      Type.Object(
        {
          request_reference: text(
            'Reference of this verification, also of one that failed. On 409, of the verification in progress.',
          ),
          verification_status: Type.Optional(Type.Enum(['NOT_VERIFIED', 'PENDING', 'EXPIRED'] as const)),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)
export type ErrorBody = Static<typeof ErrorBody>

/** The body of 401, as the contract fixes it. */
export const UnauthenticatedBody = exactly({
  message: text('Says that the caller is unauthenticated.', 'Unauthenticated.'),
})
