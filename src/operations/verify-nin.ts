import { NinRequest, NinResponse } from '../contract/nin.ts'
import { toDetails } from '../contract/person.ts'
import { NIN } from '../verification/id-type.ts'
import { verify } from '../verification/verify.ts'
import { defineOperation } from './operation.ts'
import { VERIFICATION_ERRORS } from './verification-reply.ts'

export const verifyNin = defineOperation({
  name: NIN.operation,
  operationId: 'verifyNin',
  method: 'POST',
  path: '/api/v2/kyc/verify-nin',
  tag: 'Identity',
  summary: 'Verify a NIN against a phone number',
  description:
    'Answers 200 only when a record with this NIN exists and its phone is the phone in the request. An unknown NIN and a phone that does not match give the same 422. Names and a date of birth in the request are compared with the record; the header `Tabbat-Match` of the response says how they compare.',
  scope: 'kyc:nin',
  inputFrom: 'body',
  request: NinRequest,
  response: NinResponse,
  errors: VERIFICATION_ERRORS,
  run: (context, request) => {
    const { nin, phone } = request.input
    return verify(context, NIN, request, { number: nin, phone, details: toDetails(request.input) })
  },
})
