import { cancelVerification as cancel } from '../verification/queue/read-verification.ts'
import type { ResourceOperation } from './operation.ts'
import {
  toAsked,
  toVerificationReply,
  VERIFICATION_ID,
  VERIFICATION_PATH,
  VERIFICATION_SCOPES,
} from './verification-reply.ts'

export const cancelVerification: ResourceOperation = {
  name: 'cancel_verification',
  operationId: 'cancelVerification',
  method: 'DELETE',
  path: VERIFICATION_PATH,
  tag: 'Identity',
  summary: 'Cancel a pending verification',
  description:
    'Answers 204, also to a repeated call. A verification for which a source is being asked at this moment, and one that has ended, is not cancelled: 409.',
  scope: VERIFICATION_SCOPES,
  id: VERIFICATION_ID,
  responses: { 204: { description: 'Cancelled. No source will be asked any more.' } },
  errors: ['not_found', 'already_begun', 'gone', 'audit_unavailable'],
  run: async (context, exchange, caller) => {
    const asked = toAsked(exchange, caller)
    return toVerificationReply(exchange, await cancel(context, asked))
  },
}
