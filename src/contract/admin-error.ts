export type AdminErrorCode =
  | 'signed_out'
  | 'wrong_password'
  | 'wrong_token'
  | 'invitation_void'
  | 'wrong_role'
  | 'foreign_origin'
  | 'unknown_host'
  | 'too_many_tries'
  | 'too_many_streams'
  | 'body_too_large'
  | 'refused'

/** What the admin API answers besides the errors of the API itself. */
export const ADMIN_ERRORS: Readonly<
  Record<AdminErrorCode, { readonly status: number; readonly message: string }>
> = {
  signed_out: { status: 401, message: 'Sign in first.' },
  wrong_password: { status: 401, message: 'The name or the password is wrong.' },
  wrong_token: { status: 401, message: 'The token of TABBAT_METRICS_TOKEN is missing or wrong.' },
  invitation_void: { status: 410, message: 'This link was used, has run out, or was never made.' },
  wrong_role: { status: 403, message: 'Your role does not allow this.' },
  foreign_origin: { status: 403, message: 'This was asked by another site.' },
  unknown_host: {
    status: 421,
    message: 'The admin listener is not known under this host name. Set TABBAT_ADMIN_NAMES.',
  },
  too_many_tries: { status: 429, message: 'Too many tries. Wait as long as Retry-After says.' },
  too_many_streams: {
    status: 429,
    message: 'Too many pages of this session are open. Close some of them.',
  },
  body_too_large: { status: 413, message: 'What was sent is larger than is taken here.' },
  refused: { status: 409, message: '' },
}

/** A reason not to do what a person at the console asked for. */
export class AdminError extends Error {
  readonly code: AdminErrorCode
  readonly headers: readonly string[]

  constructor(
    code: AdminErrorCode,
    { message = ADMIN_ERRORS[code].message, headers = [] as readonly string[] } = {},
  ) {
    super(message)
    this.name = 'AdminRefusal'
    this.code = code
    this.headers = headers
  }
}
