import { AppError, ERRORS, toErrorBody } from '../errors.ts'
import { toReleasedFields } from '../keys/field-policy.ts'
import type { StoredResponse } from './idempotency.ts'
import { mask } from './mask.ts'
import type { Decision } from './match.ts'
import { toMatchText } from './match-details.ts'
import type { Verification } from './verification.ts'

/** The response of a decision, with the fields hidden that the key must not see. Undefined for a failure. */
export function toStoredResponse<T extends object>(
  { deps, idType, request, reference }: Verification<T>,
  decision: Decision<T>,
): StoredResponse | undefined {
  if ('error' in decision) return undefined
  if (!('record' in decision)) return toNotVerified(reference, request.requestId)
  const { hidden } = request.caller
  const body = idType.toBody(mask(decision.record, hidden), reference, request, deps.pictureKey)
  return {
    status: 200,
    body: JSON.stringify(body),
    outcome: 'verified',
    reference,
    released: toReleasedFields(idType.kind, hidden),
    ...(decision.match && { match: toMatchText(decision.match.told) }),
  }
}

/** The same for an unknown number and for another phone: otherwise callers could find out which numbers exist. */
function toNotVerified(reference: string, requestId: string): StoredResponse {
  const data = { request_reference: reference, verification_status: 'NOT_VERIFIED' }
  const body = JSON.stringify(toErrorBody(new AppError('not_verified', { data }), requestId))
  return { status: ERRORS.not_verified.status, body, outcome: 'not_verified', reference, released: null }
}
