import { objectWith, optionalFields } from '../wire.ts'

/** {"success": true, "data": {…}}: the result of the contract. The fields are checked where they are read. */
export const NinReply = objectWith({
  data: optionalFields(
    'nin_number',
    'document_no',
    'personal_info',
    'next_of_kin',
    'residential_info',
    'indigene_info',
    'education_profession',
  ),
})

export const BvnReply = objectWith({
  data: optionalFields(
    'bvn_number',
    'name_on_card',
    'enrolment_branch',
    'enrolment_bank',
    'formatted_registration_date',
    'level_of_account',
    'nin',
    'watchlisted',
    'personal_info',
    'residential_info',
  ),
})
