import type { Schemas } from './api.ts'

/** Codes of the API, and those of the client itself. A newer server may have others. */
export type ErrorCode =
  | Schemas['Error']['code']
  | 'unauthenticated'
  /** An argument that cannot be sent. */
  | 'invalid_argument'
  /** No complete response. */
  | 'network_error'
  /** No complete response within the time of the call. */
  | 'timeout'
  /** The signal of the caller. */
  | 'aborted'
  /** Not a response of Tabbat: of a proxy, for example. */
  | 'unexpected_response'
  /** A webhook that must not be trusted. */
  | 'invalid_signature'
  | (string & {})

export type TabbatErrorOptions = {
  readonly status?: number | undefined
  readonly retryable?: boolean | undefined
  readonly requestId?: string | undefined
  readonly reference?: string | undefined
  readonly fields?: Readonly<Record<string, readonly string[]>> | undefined
  readonly retryAfterMs?: number | undefined
}

/** The only error that the client throws. It has no cause: that could quote a header or an address. */
export class TabbatError extends Error {
  readonly code: ErrorCode
  /** Of the response; 0 if there was none. */
  readonly status: number
  /** Whether the same call may succeed later. */
  readonly retryable: boolean
  /** Finds the request in the log of the server. */
  readonly requestId: string | undefined
  /** The request_reference of the verification, if it got so far. On 409, of the one in progress. */
  readonly reference: string | undefined
  /** What is wrong with which field. */
  readonly fields: Readonly<Record<string, readonly string[]>> | undefined
  /** How long the server asks to wait. */
  readonly retryAfterMs: number | undefined

  constructor(code: ErrorCode, message: string, options: TabbatErrorOptions = {}) {
    super(message)
    this.name = 'TabbatError'
    this.code = code
    this.status = options.status ?? 0
    this.retryable = options.retryable ?? false
    this.requestId = options.requestId
    this.reference = options.reference
    this.fields = options.fields
    this.retryAfterMs = options.retryAfterMs
  }

  /** `JSON.stringify` leaves the message of an ordinary error out. */
  toJSON(): Record<string, unknown> {
    const { name, code, status, message, retryable, requestId, reference, fields, retryAfterMs } = this
    return { name, code, status, message, retryable, requestId, reference, fields, retryAfterMs }
  }
}

export const invalidArgument = (message: string): TabbatError => new TabbatError('invalid_argument', message)

export const unexpectedResponse = (status: number, options: TabbatErrorOptions = {}): TabbatError =>
  new TabbatError(
    'unexpected_response',
    `HTTP ${status} is not a response of Tabbat. Check baseUrl and what is in front of the server.`,
    { ...options, status },
  )
