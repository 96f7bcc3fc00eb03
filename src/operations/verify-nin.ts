import type { Context } from '../context/context.ts'
import { type NinRecord, NinRequest, NinResponse } from '../contract/nin.ts'
import { toPhoneCore } from '../contract/phone.ts'
import { toNinSubject } from '../verification/subject.ts'
import { verify } from '../verification/verify.ts'
import { defineOperation, type OperationRequest } from './operation.ts'
import { toAsker, VERIFICATION_ERRORS } from './verification.ts'

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
  errors: VERIFICATION_ERRORS,
  run: (context, ask) => {
    const { nin, phone } = ask.input
    const toImageUrl = createToImageUrl(context, ask)
    const subject = toNinSubject(nin, toPhoneCore(phone) as string, (record, reference) =>
      JSON.stringify(toBody(record, reference, toImageUrl)),
    )
    return verify(context, toAsker(ask, 'verify_nin'), subject)
  },
})

type ToImageUrl = (imageUrl: string) => string

/** Links to pictures lead to this server; one of the registry is bound to the key that asks. */
const createToImageUrl =
  (
    { toPicturePath }: Pick<Context, 'toPicturePath'>,
    { origin, caller }: Pick<OperationRequest<unknown>, 'origin' | 'caller'>,
  ): ToImageUrl =>
  (imageUrl) => {
    const path = toPicturePath(imageUrl, caller.keyId)
    return path.startsWith('/') ? origin + path : path
  }

function toBody(record: NinRecord, reference: string, toImageUrl: ToImageUrl): NinResponse {
  return {
    success: true,
    message: 'NIN verification completed successfully',
    data: {
      request_reference: reference,
      nin_number: record.nin_number,
      document_no: record.document_no,
      verification_status: 'VERIFIED',
      service_type: 'NIN',
      personal_info: {
        ...record.personal_info,
        image_url: toImageUrl(record.personal_info.image_url),
      },
      next_of_kin: record.next_of_kin,
      residential_info: record.residential_info,
      indigene_info: record.indigene_info,
      education_profession: record.education_profession,
    },
  }
}
