import { loose, loosely, part } from '../wire.ts'

/** {"accessToken": "…", "expiresIn": 7200 or "7200 secs", "tokenType": "Bearer"} */
export const TokenReply = loosely('accessToken', 'expiresIn')

/** What every answer with 200 has; the person is in it only when the status is verified. */
export const Verdict = part({ id: loose, status: loosely('state', 'status') })

export const NinReply = part({
  nin: loosely(
    'nin',
    'title',
    'firstname',
    'middlename',
    'lastname',
    'phone',
    'gender',
    'birthdate',
    'height',
    'marital_status',
    'religion',
    'profession',
    'next_of_kin',
    'residence',
    'address',
    'lga_of_origin',
    'place_of_origin',
    'state_of_origin',
    'birth_state',
    'birth_country',
  ),
})

export const BvnReply = part({
  bvn: loosely(
    'bvn',
    'firstname',
    'middlename',
    'lastname',
    'email',
    'gender',
    'phone',
    'birthdate',
    'lga_of_origin',
    'state_of_origin',
    'nationality',
    'marital_status',
    'state_of_residence',
    'residential_address',
    'name_on_card',
    'enrollment_branch',
    'enrollment_bank',
    'level_of_account',
  ),
})
