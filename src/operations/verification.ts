import { holdsPersonNumber, PERSON_NUMBER_RULE } from '../contract/free-text.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import type { VerificationRequest } from '../verification/verification-request.ts'
import type { OperationRequest } from './operation.ts'

/** How a verification can end besides VERIFIED. */
export const VERIFICATION_ERRORS: readonly ErrorCode[] = [
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
]

const CONSENT = /^[A-Za-z0-9._:/-]{1,100}$/

/** What goes along with a verification besides its inputs. */
export function toAsker(
  { caller, requestId, headers, input, person }: OperationRequest<Inputs>,
  operation: string,
  amount?: string,
): VerificationRequest {
  const consentReference = single(headers['x-consent-reference'])
  const problem = findConsentProblem(consentReference, caller.requiresConsent, input)
  if (problem) throw new AppError('validation_failed', { errors: { 'X-Consent-Reference': [problem] } })
  const idempotencyKey = single(headers['idempotency-key'])
  const fresh = /(^|[,\s])no-(cache|store)([,\s=]|$)/i.test(single(headers['cache-control']) ?? '')
  return {
    caller,
    person,
    requestId,
    operation,
    amount,
    idempotencyKey,
    consentReference,
    fresh,
    startedAt: performance.now(),
  }
}

type Inputs = { readonly phone: string; readonly nin?: string; readonly bvn?: string }

const single = (header: string | string[] | undefined) => (Array.isArray(header) ? header.join(',') : header)

/** The reference is written into the audit log as it is. The numbers of this request are refused however they are spelt. */
function findConsentProblem(
  reference: string | undefined,
  isRequired: boolean,
  input: Inputs,
): string | undefined {
  if (reference === undefined) return isRequired ? 'X-Consent-Reference is required for this key' : undefined
  if (!CONSENT.test(reference)) return 'X-Consent-Reference must be 1 to 100 letters, digits or . _ : / -'
  if (holdsPersonNumber(reference)) return `X-Consent-Reference ${PERSON_NUMBER_RULE}`
  const secrets = [input.nin, input.bvn, input.phone.replace(/[^0-9]/g, '').slice(-10)]
  const digits = reference.replace(/[^0-9]/g, '')
  return secrets.some((secret) => secret && digits.includes(secret))
    ? 'X-Consent-Reference must not contain the number or the phone'
    : undefined
}
