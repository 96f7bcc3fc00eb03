import { ERRORS } from '../../errors.ts'
import type { Reply } from '../http.ts'
import { toText } from '../record.ts'
import { SourceError } from '../source.ts'
import { saysUnknownPath, toStatusError } from '../status.ts'

/** Whether the answer holds a person. Throws when it is neither that nor "not verified". */
export function isVerified(source: string, { status, body }: Reply): boolean {
  if ((status === 404 || status === 422) && saysNotVerified(body)) return false
  if (status !== 200) throw toRelayError(source, status, body)
  const verdict = fieldOf(body, 'success') === true ? statusIn(body) : ''
  if (verdict === 'VERIFIED') return true
  if (NOT_VERIFIED.test(verdict)) return false
  throw new SourceError(source, 'bad_response', { trouble: 'unknown_shape' })
}

/** A Tabbat's Retry-After may be about one number, or about its own sources: then it is no reason to leave it alone. */
function toRelayError(source: string, status: number, body: unknown): SourceError {
  const code = fieldOf(body, 'code')
  if (status === 429 && code === 'too_many_attempts')
    return new SourceError(source, 'throttled', { trouble: 'too_many', fault: 'question' })
  if (status === 503 && code === 'source_unavailable')
    return new SourceError(source, 'unreachable', { trouble: 'vendor_down', retryAfterMs: 0 })
  return toStatusError(source, status)
}

/** That server's own reference, which it also gives with "not verified". */
export const referenceIn = (body: unknown): unknown => fieldOf(fieldOf(body, 'data'), 'request_reference')

const NOT_VERIFIED = /^(NOT|UN)[ _-]?(VERIFIED|FOUND)$/
const SAYS_SO = /\bnot (be |been )?verified|\bnot found|\bno (such )?record/i
const SAYS_OTHER_PHONE = /does(n't| not) match|mismatch/i
/** That it is the question's form which does not match, and not the person. */
const SAYS_FORM = /format|pattern|required/i

/** A Tabbat says it by its code, others only in words. */
function saysNotVerified(body: unknown): boolean {
  const code = fieldOf(body, 'code')
  if (typeof code === 'string' && Object.hasOwn(ERRORS, code)) return code === 'not_verified'
  if (NOT_VERIFIED.test(statusIn(body))) return true
  const message = toText(fieldOf(body, 'message'))
  if (saysUnknownPath(message)) return false
  return SAYS_SO.test(message) || (SAYS_OTHER_PHONE.test(message) && !SAYS_FORM.test(message))
}

const statusIn = (body: unknown): string =>
  toText(fieldOf(fieldOf(body, 'data'), 'verification_status')).toUpperCase()

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
