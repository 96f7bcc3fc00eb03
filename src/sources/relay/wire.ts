import { loosely, part } from '../wire.ts'

/** {"success": true, "data": {…}}: the result of the contract. The record is judged field by field where it is read. */
export const NinReply = part({
  data: loosely(
    'nin_number',
    'document_no',
    'personal_info',
    'next_of_kin',
    'residential_info',
    'indigene_info',
    'education_profession',
  ),
})

export const BvnReply = part({
  data: loosely(
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
