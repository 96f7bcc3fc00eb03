import { anyValue, objectWith, optionalFields } from '../wire.ts'

/** {"accessToken": "…", "expiresIn": 7200 or "7200 secs", "tokenType": "Bearer"} */
export const TokenReply = optionalFields('accessToken', 'expiresIn')

/** The common part of every reply with 200. It has a record only when the status is verified. */
export const Verdict = objectWith({ id: anyValue, status: optionalFields('state', 'status') })

export const NinReply = objectWith({
  nin: optionalFields(
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

/** A virtual NIN has few fields. */
export const VirtualNinReply = objectWith({
  v_nin: optionalFields('vNin', 'firstname', 'middlename', 'lastname', 'phone', 'gender', 'birthdate'),
})

export const BvnReply = objectWith({
  bvn: optionalFields(
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
