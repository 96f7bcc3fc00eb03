import { toText } from '../record.ts'
import { objectWith, optionalFields } from '../wire.ts'

/** The text of an error, which never comes with an entity. Only for comparing: it may contain personal data. */
export const toErrorText = (body: unknown): string =>
  toText((body as { readonly error?: unknown } | null | undefined)?.error)

/** {"entity": {…}} with 200; {"error": "text"} with any other status. */
export const NinReply = objectWith({
  entity: optionalFields(
    'nin',
    'title',
    'first_name',
    'middle_name',
    'surname',
    // Of a virtual NIN.
    'vnin',
    'firstname',
    'middlename',
    'mobile',
    'dateOfBirth',
    'last_name',
    'maiden_name',
    'gender',
    'telephone',
    'phone_number',
    'birth_date',
    'date_of_birth',
    'height',
    'marital_status',
    'religion',
    'nok_first_name',
    'nok_surname',
    'nok_address_1',
    'nok_address_2',
    'nok_lga',
    'nok_town',
    'nok_state',
    'residence_address',
    'residence_address_line_1',
    'residence_address_line_2',
    'residence_lga',
    'residence_state',
    'residence_status',
    'origin_lga',
    'origin_place',
    'origin_state',
    'birth_lga',
    'birth_state',
    'birth_country',
    'educational_level',
    'profession',
    'reference',
  ),
})

export const BvnReply = objectWith({
  entity: optionalFields(
    'bvn',
    'first_name',
    'middle_name',
    'last_name',
    'email',
    'gender',
    'phone_number1',
    'phone_number2',
    'date_of_birth',
    'lga_of_origin',
    'state_of_origin',
    'nationality',
    'marital_status',
    'state_of_residence',
    'lga_of_residence',
    'residential_address',
    'name_on_card',
    'enrollment_branch',
    'enrollment_bank',
    'registration_date',
    'level_of_account',
    'nin',
    'watch_listed',
    'reference',
  ),
})
