import { ERRORS } from '../../errors.ts'
import { createPhraseMatcher, NO_SUCH_PERSON, PHONE_DIFFERS } from '../not-found.ts'
import { toText } from '../record.ts'
import type { HttpReply } from '../source.ts'
import { SourceError } from '../source.ts'
import { isTemporary, toStatusError } from '../status.ts'

/** Whether the answer holds a person. Throws when it is neither that nor "not verified". */
type JudgeReply = (reply: HttpReply) => boolean

/** What servers of this API that are not a Tabbat say in words; a Tabbat has a code for it. */
const NOT_VERIFIED_TEXTS = [
  ...NO_SUCH_PERSON,
  ...PHONE_DIFFERS,
  ...['nin', 'bvn', 'the number', 'the number {number}'].map((what) => `${what} could not be verified`),
]

export function createJudge(source: string, notFound?: readonly string[]): JudgeReply {
  const saysNotVerified = createPhraseMatcher(NOT_VERIFIED_TEXTS, notFound)

  /** A Tabbat says it by its code, others by the status of the verification, or only in words. */
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
    throw new SourceError(source, 'bad_response', { trouble: 'unknown_shape' })
  }
}

/** A Tabbat's Retry-After may be about one number, or about its own sources: then it is no reason to leave it alone. */
function toRelayError(source: string, status: number, body: unknown): SourceError {
  const code = fieldOf(body, 'code')
  if (status === 429 && code === 'too_many_attempts')
    return new SourceError(source, 'throttled', { trouble: 'too_many', fault: 'question' })
  if (status === 503 && code === 'source_unavailable')
    return new SourceError(source, 'unreachable', { trouble: 'vendor_down', retryAfterMs: 0 })
  return toStatusError(source, status, body)
}

/** That server's own reference, which it also gives with "not verified". */
export const referenceIn = (body: unknown): unknown => fieldOf(fieldOf(body, 'data'), 'request_reference')

const NOT_VERIFIED = /^(NOT|UN)[ _-]?(VERIFIED|FOUND)$/

const statusIn = (body: unknown): string =>
  toText(fieldOf(fieldOf(body, 'data'), 'verification_status')).toUpperCase()

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
