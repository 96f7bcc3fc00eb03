import { NinRequest, NinResponse } from '../contract/nin.ts'
import { toPhoneCore } from '../contract/phone.ts'
import { verifyNinRecord } from '../verification/verify.ts'
import { defineOperation } from './operation.ts'
import { SOURCE_ERRORS, toNotVerified } from './verification-errors.ts'

export const verifyNin = defineOperation({
  name: 'verify_nin',
  operationId: 'verifyNin',
  method: 'POST',
  path: '/api/v2/kyc/verify-nin',
  tag: 'Identity',
  summary: 'Verify a NIN against a phone number',
  description:
    'Answers 200 only when a record with this NIN exists and the phone belongs to it. A NIN that nobody has and a phone that does not match give the same 422.',
  scope: 'kyc:nin',
  inputFrom: 'body',
  request: NinRequest,
  response: NinResponse,
  errors: SOURCE_ERRORS,
  run: async (context, { input, caller, origin }) => {
    const outcome = await verifyNinRecord(context, caller, input.nin, toPhoneCore(input.phone) as string)
    if (!outcome.verified) throw toNotVerified(outcome.reference)
    const { reference, record } = outcome
    const { image_url } = record.personal_info
    return {
      success: true as const,
      message: 'NIN verification completed successfully',
      data: {
        request_reference: reference,
        nin_number: record.nin_number,
        document_no: record.document_no,
        verification_status: 'VERIFIED' as const,
        service_type: 'NIN' as const,
        personal_info: {
          ...record.personal_info,
          image_url: image_url.startsWith('/') ? origin + image_url : image_url,
        },
        next_of_kin: record.next_of_kin,
        residential_info: record.residential_info,
        indigene_info: record.indigene_info,
        education_profession: record.education_profession,
      },
    }
  },
})
