import { readVerification } from '../verification/queue/read-verification.ts'
import type { ResourceOperation } from './operation.ts'
import {
  toAsked,
  toVerificationReply,
  VERIFICATION_ID,
  VERIFICATION_PATH,
  VERIFICATION_SCOPES,
} from './verification-reply.ts'

export const getVerification: ResourceOperation = {
  name: 'get_verification',
  operationId: 'getVerification',
  method: 'GET',
  path: VERIFICATION_PATH,
  tag: 'Identity',
  summary: 'Read the answer of a pending verification',
  description:
    'Answers 202 while the verification is pending, and then exactly what the verification would have answered: 200, 422, or 504 `expired`. Only the key that asked, or a key that it was rolled to, gets the answer. It is kept for 24 hours by default; then the answer is 410 for seven days, then 404.',
  scope: VERIFICATION_SCOPES,
  id: VERIFICATION_ID,
  responses: {
    200: {
      description: 'VERIFIED: the record exists and its phone matches.',
      content: {
        'application/json': {
          schema: {
            anyOf: [
              { $ref: '#/components/schemas/VerifyNinResponse' },
              { $ref: '#/components/schemas/VerifyBvnResponse' },
            ],
          },
        },
      },
    },
  },
  errors: [
    'pending',
    'not_found',
    'gone',
    'not_verified',
    'too_many_attempts',
    'quota_exceeded',
    'expired',
    'audit_unavailable',
  ],
  run: async (context, exchange, caller) => {
    const asked = toAsked(exchange, caller)
    return toVerificationReply(exchange, await readVerification(context, asked))
  },
}
