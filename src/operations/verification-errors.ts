import type { ErrorCode } from '../errors.ts'

/** How a verification can end besides VERIFIED. */
export const VERIFICATION_ERRORS: readonly ErrorCode[] = [
  'pending',
  'malformed_json',
  'idempotency_in_progress',
  'body_too_large',
  'unsupported_media_type',
  'validation_failed',
  'not_verified',
  'idempotency_key_reused',
  'too_many_attempts',
  'quota_exceeded',
  'source_bad_response',
  'source_unavailable',
  'audit_unavailable',
  'source_timeout',
  'queue_full',
]
