import { TabbatError, unexpectedResponse } from './error.ts'
import { readRetryAfter } from './retry.ts'

const RETRYABLE_STATUSES = [408, 425, 429, 502, 503, 504]

type ErrorFields = Record<string, string[]>

/** The error of a response that is not a success. `sent` are the texts of the request, which it must not quote. */
export function toResponseError(response: Response, body: unknown, sent: readonly string[]): TabbatError {
  const { status, headers } = response
  const { code, message, retryable, request_id, errors, data } = toObject(body)
  const reference = toSafe(toObject(data).request_reference, sent)
  const isTabbat = typeof code === 'string' && /^[a-z_]{1,64}$/.test(code)
  const requestId = toSafe(request_id ?? headers.get('x-request-id'), sent)
  const options = {
    status,
    retryable: isTabbat ? retryable === true : RETRYABLE_STATUSES.includes(status),
    requestId: requestId && /^[\w.-]{8,64}$/.test(requestId) ? requestId : undefined,
    reference: reference && /^ver_[0-9a-z]{20,60}$/.test(reference) ? reference : undefined,
    fields: toFields(errors, sent),
    retryAfterMs: readRetryAfter(headers),
  }
  if (status === 401)
    return new TabbatError('unauthenticated', 'The API key is missing, wrong, revoked or expired.', options)
  if (!isTabbat) return unexpectedResponse(status, options)
  return new TabbatError(code, toSafe(message, sent) ?? `HTTP ${status} ${code}.`, options)
}

const toObject = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function toFields(errors: unknown, sent: readonly string[]): ErrorFields | undefined {
  const fields = Object.entries(toObject(errors))
    .filter(([name]) => /^[A-Za-z_-]{1,64}$/.test(name) && toSafe(name, sent) !== undefined)
    .map(([name, problems]): [string, string[]] => [
      name,
      (Array.isArray(problems) ? problems : []).map((each) => toSafe(each, sent) ?? `${name} is wrong`),
    ])
  return fields.length === 0 ? undefined : Object.fromEntries(fields)
}

/** A server must not quote values of the request, and a proxy might: such a text is dropped. */
function toSafe(text: unknown, sent: readonly string[]): string | undefined {
  if (typeof text !== 'string') return undefined
  const lower = text.toLowerCase()
  const words = lower.split(/[^\p{L}\p{N}]+/u)
  const isQuoted = (value: string) =>
    words.includes(value) ||
    (value.length > 3 && lower.includes(value)) ||
    (toDigits(value).length > 6 && toDigits(text).includes(toDigits(value).slice(-7)))
  return sent.some((value) => isQuoted(value.trim().toLowerCase())) ? undefined : text
}

const toDigits = (text: string) => text.replace(/\D/g, '')
