import { Type } from '../../contract/schema.ts'
import { toText } from '../record.ts'
import { anyValue, objectWith, optionalFields } from '../wire.ts'

/** "00" found, "01" not found, "02" temporarily unavailable, "03" no funds. Empty when the reply is not from Prembly. */
export const toCode = (body: unknown): string => {
  const code = toText((body as { readonly response_code?: unknown } | null | undefined)?.response_code)
  return /^\d$/.test(code) ? `0${code}` : code
}

/** Optional: the newest samples omit it. PENDING and NOT-VERIFIED also exist and must be rejected. */
const verification = Type.Optional(
  Type.Nullable(objectWith({ status: Type.Literal('VERIFIED'), reference: anyValue })),
)

/** Each version of the API has the record under another name. The `session` of some versions is never read. */
export const NinReply = objectWith({ verification, data: anyValue, nin_data: anyValue })
export const BvnReply = objectWith({
  verification,
  data: anyValue,
  bvn_data: anyValue,
  request_data: anyValue,
})

/** NIMC's field names, typing errors included. Two names for one field come from two versions of the API. */
export const NinData = optionalFields(
  'nin',
  'vnin',
  // NIMC's names in the answer to a virtual NIN.
  'vNIN',
  'firstName',
  'middleName',
  'dateOfBirth',
  'trustedNumber',
  'documentno',
  'title',
  'firstname',
  'firsname',
  'middlename',
  'surname',
  'maidenname',
  'gender',
  'telephoneno',
  'birthdate',
  'heigth',
  'height',
  'maritalstatus',
  'religion',
  'nok_firstname',
  'nok_surname',
  'nok_address1',
  'nok_address2',
  'nok_lga',
  'nok_town',
  'nok_state',
  'residence_AdressLine1',
  'residence_address',
  'residence_lga',
  'residence_state',
  'residencestatus',
  'self_origin_lga',
  'self_origin_place',
  'self_origin_state',
  'birthlga',
  'birthstate',
  'birthcountry',
  'educationallevel',
  'profession',
)

export const BvnData = optionalFields(
  'bvn',
  'firstName',
  'middleName',
  'lastName',
  'email',
  'gender',
  'phoneNumber1',
  'phoneNumber',
  'phoneNumber2',
  'dateOfBirth',
  'lgaOfOrigin',
  'stateOfOrigin',
  'nationality',
  'maritalStatus',
  'stateOfResidence',
  'lgaOfResidence',
  'residentialAddress',
  'nameOnCard',
  'enrollmentBranch',
  'enrollmentBank',
  'registrationDate',
  'levelOfAccount',
  'nin',
  'watchListed',
)
