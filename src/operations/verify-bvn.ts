import { type BvnRecord, BvnRequest, BvnResponse } from '../contract/bvn.ts'
import { toPhoneCore } from '../contract/phone.ts'
import { toBvnSubject } from '../verification/subject.ts'
import { verify } from '../verification/verify.ts'
import { defineOperation } from './operation.ts'
import { toAsker, VERIFICATION_ERRORS } from './verification.ts'

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
  errors: VERIFICATION_ERRORS,
  run: (context, ask) => {
    const { bvn, phone, amount } = ask.input
    const subject = toBvnSubject(bvn, toPhoneCore(phone) as string, (record, reference) =>
      JSON.stringify(toBody(record, reference)),
    )
    return verify(context, toAsker(ask, 'verify_bvn', amount), subject)
  },
})

const toBody = (record: BvnRecord, reference: string): BvnResponse => ({
  success: true,
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
    verification_status: 'VERIFIED',
    service_type: 'BVN',
    personal_info: record.personal_info,
    residential_info: record.residential_info,
  },
})
