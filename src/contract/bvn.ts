import { detailInputs, phoneInput } from './person.ts'
import {
  derived,
  exactly,
  input,
  NAME_FIELDS,
  personal,
  personalOrNull,
  request,
  type Static,
  Type,
  text,
} from './schema.ts'

export const BvnRequest = request(
  {
    bvn: input({
      pattern: '^[0-9]{11}$',
      rule: 'must be 11 digits',
      description: 'Bank verification number of the customer: 11 digits, as a string.',
      example: '22345678901',
      pii: true,
    }),
    phone: phoneInput,
    amount: input({
      pattern: '^[0-9]{1,9}(?:\\.[0-9]{1,2})?$',
      rule: 'must be an amount such as 100 or 100.50, with at most nine digits and two decimals',
      description: 'An amount as decimal text. It is validated and audited, and never sent to a source.',
      example: '100.00',
    }),
    ...detailInputs,
  },
  'The number to verify, the phone it must belong to, and an amount for the record. Optionally, details of the person to compare.',
)
export type BvnRequest = Static<typeof BvnRequest>

const personalInfo = exactly({
  first_name: personal('First name.'),
  middle_name: personal('Middle name.'),
  last_name: personal('Last name.'),
  full_name: derived(NAME_FIELDS, 'First, middle and last name.'),
  // Most addresses are made of the name.
  email: derived(NAME_FIELDS, 'E-mail address, or empty.'),
  gender: personal('Gender: Male or Female.'),
  phone_number: personal('Phone number on the record, as 0803….'),
  phone_number_2: personalOrNull('Second phone number on the record.'),
  // A source may give either one. The other is computed from it.
  date_of_birth: derived(
    ['personal_info.formatted_date_of_birth'],
    'Date of birth, for example 05-Jan-1990.',
  ),
  formatted_date_of_birth: derived(
    ['personal_info.date_of_birth'],
    'Date of birth in words, for example January 5, 1990.',
  ),
  lga_of_origin: personal('Local government area of origin.'),
  state_of_origin: personal('State of origin.'),
  nationality: personal('Nationality.'),
  marital_status: personal('Marital status.'),
})

const residentialInfo = exactly({
  state_of_residence: personal('State of residence.'),
  lga_of_residence: personal('Local government area of residence.'),
  residential_address: personal('Street address.'),
})

/** What a source knows about a person: the contract's result without what belongs to the request. */
export const BvnRecord = exactly({
  bvn_number: personal('The BVN that was verified.'),
  name_on_card: derived(['personal_info.full_name'], 'Name on the card.'),
  enrolment_branch: personal('Branch of enrolment.'),
  enrolment_bank: personal('Code of the bank of enrolment.'),
  formatted_registration_date: personalOrNull('Date of registration in words, for example March 21, 2018.'),
  level_of_account: personal('Level of the account, in words.'),
  nin: personal('NIN linked to the BVN, or empty.'),
  watchlisted: personalOrNull('Watch list entry; null when there is none.'),
  personal_info: personalInfo,
  residential_info: residentialInfo,
})
export type BvnRecord = Static<typeof BvnRecord>

const record = BvnRecord.properties

const BvnResult = exactly({
  request_reference: text('Reference of this verification.', 'ver_06f4kq1v5s9m3c7d2hxg8t0zab4n6p1r5w9y3e7k'),
  bvn_number: record.bvn_number,
  name_on_card: record.name_on_card,
  enrolment_branch: record.enrolment_branch,
  enrolment_bank: record.enrolment_bank,
  formatted_registration_date: record.formatted_registration_date,
  level_of_account: record.level_of_account,
  nin: record.nin,
  watchlisted: record.watchlisted,
  verification_status: Type.Literal('VERIFIED', { description: 'Always VERIFIED in a 200 answer.' }),
  service_type: Type.Literal('BVN', { description: 'Name of the verification service used.' }),
  personal_info: personalInfo,
  residential_info: residentialInfo,
})

export const BvnResponse = exactly({
  success: Type.Literal(true),
  message: text('Completion message of the verification.'),
  data: BvnResult,
})
export type BvnResponse = Static<typeof BvnResponse>
