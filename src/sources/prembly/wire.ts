import { Type } from '../../contract/schema.ts'
import { toText } from '../record.ts'
import { loose, loosely, part } from '../wire.ts'

/** "00" found, "01" not found, "02" not now, "03" no funds. Empty when the reply is not Prembly's. */
export const toCode = (body: unknown): string => {
  const code = toText((body as { readonly response_code?: unknown } | null | undefined)?.response_code)
  return /^\d$/.test(code) ? `0${code}` : code
}

/** False beside a record; with other codes the documents have true and false. */
export const saysFailed = (body: unknown): boolean =>
  (body as { readonly status?: unknown } | null | undefined)?.status === false

/** Where it is there it has the last word: PENDING and NOT-VERIFIED exist too. The newest samples leave it out. */
const verification = Type.Optional(
  Type.Nullable(part({ status: Type.Literal('VERIFIED'), reference: loose })),
)

/** Each generation of the API has the person under another name. The `session` that some have is never read. */
export const NinReply = part({ verification, data: loose, nin_data: loose })
export const BvnReply = part({ verification, data: loose, bvn_data: loose })

/** In NIMC's spelling, mistakes included; where there are two, the generations differ. */
export const NinData = loosely(
  'nin',
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

export const BvnData = loosely(
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
