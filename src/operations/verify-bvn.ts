import { BvnRequest, BvnResponse } from '../contract/bvn.ts'
import { toDetails } from '../contract/person.ts'
import { BVN } from '../verification/id-type.ts'
import { verify } from '../verification/verify.ts'
import { defineOperation } from './operation.ts'
import { VERIFICATION_ERRORS } from './verification-reply.ts'

export const verifyBvn = defineOperation({
  name: BVN.operation,
  operationId: 'verifyBvn',
  method: 'POST',
  path: '/api/v2/kyc/verify-bvn',
  tag: 'Identity',
  summary: 'Verify a BVN against a phone number',
  description:
    'Answers 200 only when a record with this BVN exists and one of its phones is the phone in the request. An unknown BVN and a phone that does not match give the same 422. Names and a date of birth in the request are compared with the record; the header `Tabbat-Match` of the response says how they compare.',
  scope: 'kyc:bvn',
  inputFrom: 'body',
  request: BvnRequest,
  response: BvnResponse,
  errors: VERIFICATION_ERRORS,
  run: (context, request) => {
    const { bvn, phone, amount } = request.input
    return verify(context, BVN, request, { number: bvn, phone, amount, details: toDetails(request.input) })
  },
})
