import { detailInputs, NIN_PATTERN, phoneInput } from './person.ts'
import { derived, exactly, input, NAME_FIELDS, personal, request, type Static, Type, text } from './schema.ts'

export const NinRequest = request(
  {
    nin: input({
      pattern: NIN_PATTERN,
      rule: 'must be 11 digits, or a virtual NIN: two letters, 12 digits and two letters',
      description:
        'National identity number of the customer: 11 digits, as a string. Or a virtual NIN: two letters, 12 digits and two letters, in any case.',
      example: '12345678901',
      pii: true,
    }),
    phone: phoneInput,
    ...detailInputs,
  },
  'The number to verify and the phone it must belong to. Optionally, details of the person to compare.',
)
export type NinRequest = Static<typeof NinRequest>

const personalInfo = exactly({
  title: personal('Title, for example Mr or Mrs.'),
  first_name: personal('First name.'),
  middle_name: personal('Middle name.'),
  last_name: personal('Last name.'),
  full_name: derived(NAME_FIELDS, 'First, middle and last name.'),
  maiden_name: personal('Maiden name.'),
  gender: personal('Gender: m or f.'),
  phone_number: personal('Phone number on the record, as 0803….'),
  // A source may give either one. The other is computed from it.
  date_of_birth: derived(
    ['personal_info.formatted_date_of_birth'],
    'Date of birth as day-month-year, for example 05-01-1990.',
  ),
  formatted_date_of_birth: derived(
    ['personal_info.date_of_birth'],
    'Date of birth in words, for example Jan 5, 1990.',
  ),
  height: personal('Height in centimetres.'),
  marital_status: personal('Marital status.'),
  image_url: personal('Address of a picture of the person, or empty.'),
  religion: personal('Religion.'),
})

const nextOfKin = exactly({
  firstname: personal('First name of the next of kin.'),
  surname: personal('Surname of the next of kin.'),
  address: personal('Address of the next of kin.'),
  lga: personal('Local government area of the next of kin.'),
  town: personal('Town of the next of kin.'),
  state: personal('State of the next of kin.'),
})

const residentialInfo = exactly({
  address: personal('Street address.'),
  lga_of_residence: personal('Local government area of residence.'),
  state_of_residence: personal('State of residence.'),
  residence_status: personal('Kind of residence.'),
})

const indigeneInfo = exactly({
  lga_of_origin: personal('Local government area of origin.'),
  place_of_origin: personal('Place of origin; hidden by default.'),
  state_of_origin: personal('State of origin.'),
  lga_of_birth: personal('Local government area of birth.'),
  state_of_birth: personal('State of birth.'),
  country_of_birth: personal('Country of birth.'),
})

const educationProfession = exactly({
  educational_level: personal('Level of education.'),
  profession: personal('Profession.'),
})

/** What a source knows about a person: the contract's result without what belongs to the request. */
export const NinRecord = exactly({
  nin_number: personal(
    'The NIN that was verified. For a virtual NIN, the NIN that the source returns, or the virtual NIN.',
  ),
  document_no: personal('Document number.'),
  personal_info: personalInfo,
  next_of_kin: nextOfKin,
  residential_info: residentialInfo,
  indigene_info: indigeneInfo,
  education_profession: educationProfession,
})
export type NinRecord = Static<typeof NinRecord>

const NinResult = exactly({
  request_reference: text('Reference of this verification.', 'ver_06f4kq1v5s9m3c7d2hxg8t0zab4n6p1r5w9y3e7k'),
  nin_number: NinRecord.properties.nin_number,
  document_no: NinRecord.properties.document_no,
  verification_status: Type.Literal('VERIFIED', { description: 'Always VERIFIED in a 200 answer.' }),
  service_type: Type.Literal('NIN', { description: 'Name of the verification service used.' }),
  personal_info: personalInfo,
  next_of_kin: nextOfKin,
  residential_info: residentialInfo,
  indigene_info: indigeneInfo,
  education_profession: educationProfession,
})

export const NinResponse = exactly({
  success: Type.Literal(true),
  message: text('Completion message of the verification.'),
  data: NinResult,
})
export type NinResponse = Static<typeof NinResponse>
