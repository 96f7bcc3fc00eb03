type ErrorEntry = {
  readonly status: number
  readonly message: string
  /** The same request may succeed later. */
  readonly retryable: boolean
  readonly retryAfterS?: number
  /** The body carries the reference of the verification, so that support can find it. */
  readonly hasReference?: true
}

/** Every error of the API. Callers get the message only; the cause goes to the log. */
export const ERRORS = {
  pending: {
    status: 202,
    message: 'The verification is pending. Its answer will be at the address in Location.',
    retryable: false,
  },
  unauthenticated: { status: 401, message: 'Unauthenticated.', retryable: false },
  malformed_request: { status: 400, message: 'The request is not valid HTTP.', retryable: false },
  malformed_json: { status: 400, message: 'The request body is not valid JSON.', retryable: false },
  conflicting_input: {
    status: 400,
    message: 'The body and the query string differ. Send the inputs once.',
    retryable: false,
  },
  forbidden: {
    status: 403,
    message: 'This key may not do that: a scope is missing, or the address is not allowed.',
    retryable: false,
  },
  not_found: { status: 404, message: 'There is nothing at this address.', retryable: false },
  provider_not_found: {
    status: 404,
    message: 'This internet provider is not in the catalogue.',
    retryable: false,
  },
  product_not_found: { status: 404, message: 'This product is not in the catalogue.', retryable: false },
  gone: {
    status: 410,
    message: 'This verification was cancelled, or its answer is no longer kept.',
    retryable: false,
  },
  method_not_allowed: {
    status: 405,
    message: 'This method is not allowed here. See the Allow header.',
    retryable: false,
  },
  request_timeout: { status: 408, message: 'The request did not arrive in time.', retryable: true },
  body_too_large: { status: 413, message: 'The request body is larger than 16 KiB.', retryable: false },
  batch_too_large: {
    status: 413,
    message: 'A batch has at most 50 000 rows and 16 MiB. Send several batches.',
    retryable: false,
  },
  unsupported_media_type: {
    status: 415,
    message: 'Send JSON without compression, with the content type application/json.',
    retryable: false,
  },
  unsupported_batch_type: {
    status: 415,
    message: 'Send application/x-ndjson, text/csv or a JSON array, without compression.',
    retryable: false,
  },
  validation_failed: {
    status: 422,
    message: 'Some fields are missing or wrong. See errors.',
    retryable: false,
  },
  not_verified: {
    status: 422,
    message: 'The number could not be verified against this phone.',
    retryable: false,
  },
  rate_limited: {
    status: 429,
    message: 'Too many requests. Wait as long as Retry-After says.',
    retryable: true,
    retryAfterS: 60,
  },
  idempotency_in_progress: {
    status: 409,
    message: 'A request with this Idempotency-Key is still in progress. Wait for its response.',
    retryable: true,
    retryAfterS: 1,
    hasReference: true,
  },
  already_begun: {
    status: 409,
    message: 'This verification cannot be cancelled: a source is being asked, or it has ended.',
    retryable: false,
    hasReference: true,
  },
  idempotency_key_reused: {
    status: 422,
    message: 'This Idempotency-Key was used for another request. Use a new one.',
    retryable: false,
  },
  too_many_attempts: {
    status: 429,
    message: 'Too many failed matches for this number. Try again tomorrow.',
    retryable: true,
    retryAfterS: 86_400,
    hasReference: true,
  },
  quota_exceeded: {
    status: 429,
    message: 'This key has reached its daily limit of different people. Try again tomorrow.',
    retryable: true,
    retryAfterS: 3600,
    hasReference: true,
  },
  headers_too_large: { status: 431, message: 'The request headers are larger than 8 KiB.', retryable: false },
  internal_error: {
    status: 500,
    message: 'Something went wrong on our side.',
    retryable: true,
    hasReference: true,
  },
  source_bad_response: {
    status: 502,
    message: 'The identity source gave an answer that cannot be used.',
    retryable: true,
    retryAfterS: 30,
    hasReference: true,
  },
  source_unavailable: {
    status: 503,
    message: 'No identity source can be reached now.',
    retryable: true,
    retryAfterS: 30,
    hasReference: true,
  },
  audit_unavailable: {
    status: 503,
    message: 'The audit log cannot be written now, so nothing is disclosed.',
    retryable: true,
    retryAfterS: 5,
    hasReference: true,
  },
  overloaded: { status: 503, message: 'The server is too busy now.', retryable: true, retryAfterS: 1 },
  queue_full: {
    status: 503,
    message: 'Too many verifications are pending. Wait until some of them have ended.',
    retryable: true,
    retryAfterS: 30,
    hasReference: true,
  },
  expired: {
    status: 504,
    message:
      'No identity source answered before the verification expired or had used up its paid calls. Send a new request.',
    retryable: false,
  },
  source_timeout: {
    status: 504,
    message: 'The identity sources took too long.',
    retryable: true,
    retryAfterS: 30,
    hasReference: true,
  },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof ERRORS

/** The problems of each field of a request. */
export type FieldErrors = Record<string, string[]>

type AppErrorOptions = {
  readonly cause?: unknown
  readonly errors?: FieldErrors
  readonly data?: Record<string, unknown>
  /** Of the verification, if it is another than that of the request. */
  readonly reference?: string
  readonly headers?: Record<string, string>
  /** The Idempotency-Key has no paid calls left, so a retry returns this failure again. */
  readonly paidCallsUsedUp?: boolean
}

export class AppError extends Error {
  readonly code: ErrorCode
  readonly errors: FieldErrors | undefined
  readonly data: Record<string, unknown> | undefined
  readonly reference: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly paidCallsUsedUp: boolean

  constructor(code: ErrorCode, options: AppErrorOptions = {}) {
    super(ERRORS[code].message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.errors = options.errors
    this.data = options.data
    this.reference = options.reference
    this.paidCallsUsedUp = options.paidCallsUsedUp ?? false
    this.headers = { ...(this.paidCallsUsedUp ? {} : defaultHeaders(code)), ...options.headers }
  }
}

function defaultHeaders(code: ErrorCode): Record<string, string> {
  if (code === 'unauthenticated') return { 'www-authenticate': 'Bearer' }
  const entry: ErrorEntry = ERRORS[code]
  return entry.retryAfterS === undefined ? {} : { 'retry-after': String(entry.retryAfterS) }
}

const PAID_CALLS_USED_UP =
  'The budget of paid calls of this Idempotency-Key is used up: a retry calls no paid source. To call one again, use a new Idempotency-Key.'

/** The body of an error. The contract fixes that of 401; all others have the same fields. `reference` is that of the request. */
export function toErrorBody(error: AppError, requestId: string, reference?: string): Record<string, unknown> {
  const { message, retryable, hasReference }: ErrorEntry = ERRORS[error.code]
  const quoted = hasReference && (error.reference ?? reference)
  if (error.code === 'unauthenticated') return { message }
  return {
    success: false,
    code: error.code,
    message: error.paidCallsUsedUp ? `${message} ${PAID_CALLS_USED_UP}` : message,
    retryable: retryable && !error.paidCallsUsedUp,
    request_id: requestId,
    ...(error.errors && { errors: error.errors }),
    ...(quoted && { data: { request_reference: quoted } }),
    ...(error.data && { data: error.data }),
  }
}

/** A failure that the operator can fix. The message says what is the case and what to do. */
export class UserError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UserError'
  }
}
