import { BvnRequest, BvnResponse } from '../contract/bvn.ts'
import { toPhoneCore } from '../contract/phone.ts'
import { verifyBvnRecord } from '../verification/verify.ts'
import { defineOperation } from './operation.ts'
import { SOURCE_ERRORS, toNotVerified } from './verification-errors.ts'

export const verifyBvn = defineOperation({
  name: 'verify_bvn',
  operationId: 'verifyBvn',
  method: 'POST',
  path: '/api/v2/kyc/verify-bvn',
  tag: 'Identity',
  summary: 'Verify a BVN against a phone number',
  description:
    'Answers 200 only when a record with this BVN exists and one of its phones is the phone in the request. A BVN that nobody has and a phone that does not match give the same 422.',
  scope: 'kyc:bvn',
  inputFrom: 'body',
  request: BvnRequest,
  response: BvnResponse,
  errors: SOURCE_ERRORS,
  run: async (context, { input, caller }) => {
    const outcome = await verifyBvnRecord(context, caller, input.bvn, toPhoneCore(input.phone) as string)
    if (!outcome.verified) throw toNotVerified(outcome.reference)
    const { reference, record } = outcome
    return {
      success: true as const,
      message: 'BVN verification completed successfully',
      data: {
        request_reference: reference,
        bvn_number: record.bvn_number,
        name_on_card: record.name_on_card,
        enrolment_branch: record.enrolment_branch,
        enrolment_bank: record.enrolment_bank,
        formatted_registration_date: record.formatted_registration_date,
        level_of_account: record.level_of_account,
        nin: record.nin,
        watchlisted: record.watchlisted,
        verification_status: 'VERIFIED' as const,
        service_type: 'BVN' as const,
        personal_info: record.personal_info,
        residential_info: record.residential_info,
      },
    }
  },
})
