import type { Kind } from '../crypto/mac.ts'
import { AppError, ERRORS, toErrorBody } from '../errors.ts'
import type { Caller } from '../keys/caller.ts'
import { toNewlyHidden, toReleasedFields } from '../keys/field-policy.ts'
import type { StoredResponse } from './idempotency.ts'
import { mask } from './mask.ts'
import type { Decision } from './match.ts'
import { readMatchText, toMatchText } from './match-details.ts'
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

/** A stored response for a key that may have changed since: what is hidden from it now is hidden. Else it is not changed. */
export function toStillVisible(
  stored: StoredResponse,
  kind: Kind,
  { hidden }: Pick<Caller, 'hidden'>,
): StoredResponse {
  const { released, match } = stored
  const since = released === null ? undefined : toNewlyHidden(kind, released, hidden)
  if (!since) return stored
  const body = JSON.parse(stored.body) as { data: object }
  return {
    ...stored,
    body: JSON.stringify({ ...body, data: mask(body.data, since.fields) }),
    released: since.released,
    match: withoutHidden(match, since.fields),
  }
}

/** Any name may have made a name partial. */
function withoutHidden(match: string | undefined, hidden: readonly string[]): string | undefined {
  const { date_of_birth, ...names } = readMatchText(match) ?? {}
  const day = hidden.includes('personal_info.date_of_birth') ? {} : { date_of_birth }
  return toMatchText({ ...(hidden.some((path) => path.endsWith('_name')) ? {} : names), ...day })
}

/** The same for an unknown number and for another phone: otherwise callers could find out which numbers exist. */
function toNotVerified(reference: string, requestId: string): StoredResponse {
  const data = { request_reference: reference, verification_status: 'NOT_VERIFIED' }
  const body = JSON.stringify(toErrorBody(new AppError('not_verified', { data }), requestId))
  return { status: ERRORS.not_verified.status, body, outcome: 'not_verified', reference, released: null }
}
