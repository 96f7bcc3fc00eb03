import type { Scope } from '../contract/scope.ts'
import type { ErrorCode } from '../errors.ts'
import type { Exchange, Reply } from '../http/exchange.ts'
import type { Caller } from '../keys/caller.ts'
import { toAddress } from '../verification/queue/pending-response.ts'
import type { VerificationResponse } from '../verification/replay.ts'
import { isReference } from '../verification/verification-request.ts'

const NO_STORE = ['cache-control', 'no-store']
export const FINISHED = [...NO_STORE, 'content-type', 'application/json; charset=utf-8']
const REPLAYED = [...FINISHED, 'idempotent-replayed', 'true']

const NONE: readonly string[] = []

/** The response of a verification, byte for byte as it was recorded. */
export function toVerificationReply(
  exchange: Exchange,
  { status, body, outcome, reference, replayed, match, headers = NONE }: VerificationResponse,
): Reply {
  exchange.outcome = outcome
  exchange.reference = reference
  if (status === 204) return { status, headers: NO_STORE, body }
  const usual = replayed ? REPLAYED : FINISHED
  if (match === undefined && headers.length === 0) return { status, headers: usual, body }
  const matched = match === undefined ? NONE : ['tabbat-match', match]
  return { status, headers: [...usual, ...matched, ...headers], body }
}

/** Where the answer of a pending verification is. */
export const VERIFICATION_PATH = toAddress(':reference')

/** The scope of the verification itself is checked as well. */
export const VERIFICATION_SCOPES: readonly Scope[] = ['kyc:nin', 'kyc:bvn']

export const VERIFICATION_ID = {
  description: 'The `request_reference` of the 202.',
  example: 'ver_01k9zq3v5s9m3c7d2hxg8t0zab4n6p1r5w9y3e7k',
}

/** The verification that the path names. */
export function toAsked(exchange: Exchange, caller: Caller) {
  const { reference = '' } = exchange.params
  // Anything else might be a number or a name.
  if (isReference(reference)) exchange.reference = reference
  return { reference, caller, requestId: exchange.id }
}

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
