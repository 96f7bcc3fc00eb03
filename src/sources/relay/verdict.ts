import { ERRORS } from '../../errors.ts'
import { createPhraseMatcher, NO_SUCH_PERSON, PHONE_DIFFERS } from '../not-found.ts'
import { toText } from '../record.ts'
import type { HttpReply } from '../source.ts'
import { SourceError } from '../source.ts'
import { isTemporary, toStatusError } from '../status.ts'

/** Whether the reply is verified. Throws when it is neither verified nor "not verified". */
type VerifiedCheck = (reply: HttpReply) => boolean

/** Texts of servers of this API other than Tabbat. Tabbat has a code. */
const NOT_VERIFIED_TEXTS = [
  ...NO_SUCH_PERSON,
  ...PHONE_DIFFERS,
  ...['nin', 'bvn', 'the number', 'the number {number}'].map((what) => `${what} could not be verified`),
]

export function createVerifiedCheck(source: string, notFound?: readonly string[]): VerifiedCheck {
  const saysNotVerified = createPhraseMatcher(NOT_VERIFIED_TEXTS, notFound)

  /** Tabbat has a code. Other servers have a verification status, or only a text. */
  const isNotVerified = (body: unknown): boolean => {
    const code = fieldOf(body, 'code')
    if (typeof code === 'string' && Object.hasOwn(ERRORS, code)) return code === 'not_verified'
    const message = toText(fieldOf(body, 'message'))
    return saysNotVerified(message) || (NOT_VERIFIED.test(statusIn(body)) && !isTemporary(message))
  }

  return ({ status, body }) => {
    if ((status === 404 || status === 422) && isNotVerified(body)) return false
    if (status !== 200) throw toRelayError(source, status, body)
    const verdict = fieldOf(body, 'success') === true ? statusIn(body) : ''
    if (verdict === 'VERIFIED') return true
    if (NOT_VERIFIED.test(verdict)) return false
    throw new SourceError(source, 'bad_response', { problem: 'unknown_shape' })
  }
}

/** With these two codes, the Retry-After of a Tabbat server is not about the server, so there is no cooldown. */
function toRelayError(source: string, status: number, body: unknown): SourceError {
  const code = fieldOf(body, 'code')
  if (status === 429 && code === 'too_many_attempts')
    return new SourceError(source, 'throttled', { problem: 'too_many', fault: 'request' })
  if (status === 503 && code === 'source_unavailable')
    return new SourceError(source, 'unreachable', { problem: 'vendor_down', retryAfterMs: 0 })
  return toStatusError(source, status, body)
}

/** The reference of that server, which it also returns with "not verified". */
export const referenceIn = (body: unknown): unknown => fieldOf(fieldOf(body, 'data'), 'request_reference')

const NOT_VERIFIED = /^(NOT|UN)[ _-]?(VERIFIED|FOUND)$/

const statusIn = (body: unknown): string =>
  toText(fieldOf(fieldOf(body, 'data'), 'verification_status')).toUpperCase()

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
