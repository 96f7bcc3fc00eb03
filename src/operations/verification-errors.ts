import { AppError, type ErrorCode } from '../errors.ts'

/** How a verification can end besides VERIFIED. */
export const SOURCE_ERRORS: readonly ErrorCode[] = [
  'malformed_json',
  'body_too_large',
  'unsupported_media_type',
  'validation_failed',
  'not_verified',
  'too_many_attempts',
  'quota_exceeded',
  'source_bad_response',
  'source_unavailable',
  'source_timeout',
]

/** The same for a number nobody has and for a phone that differs, so that nobody can be harvested. */
export const toNotVerified = (reference: string) =>
  new AppError('not_verified', {
    data: { request_reference: reference, verification_status: 'NOT_VERIFIED' },
  })
