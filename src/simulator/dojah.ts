import type { Fault } from './faults.ts'
import { CANARY } from './faults.ts'
import { isUnknown, toBvnPerson, toNinPerson, toOtherNumber } from './people.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const error = (status: number, message: string): VendorReply => ({
  status,
  body: { error: message, reference: CANARY },
})

/** Dojah as documented: {"entity": …}, errors as {"error": "text"}. */
export const dojah: VendorScript = {
  name: 'dojah',
  settings: (url) => ({
    TABBAT_DOJAH_URL: url,
    TABBAT_DOJAH_APP_ID: 'simulated-app',
    TABBAT_DOJAH_SECRET: 'simulated-secret',
  }),
  phoneFields: ['phone_number', 'phone_number1', 'phone_number2', 'mobile'],
  refuse: error,
  answer: ({ path, query, headers }, fault) => {
    if (headers.authorization !== 'simulated-secret' || fault === 'unauthorised')
      return error(401, 'Unauthorized')
    if (fault === 'no_funds') return error(402, 'Your balance is low, pls visit the dashboard to top up')
    if (fault === 'error_in_200') return { ...error(200, 'Unable to reach service') }
    const product = /^\/api\/v1\/kyc\/(nin|nin\/advance|vnin|bvn\/full|bvn\/advance)$/.exec(path)?.[1]
    const kind = product === 'vnin' ? 'vnin' : product?.startsWith('nin') ? 'nin' : 'bvn'
    const number = query.get(kind)
    if (product === undefined) return error(404, 'Endpoint not found')
    if (number === null) return error(400, `${kind} is required`)
    if (isUnknown(number))
      return kind === 'nin' ? error(400, 'Wrong NIN Inputted') : error(404, `${kind.toUpperCase()} not found`)
    const entity = ENTITIES[kind](number, fault)
    const selected = toProduct(entity, product)
    return { status: 200, body: { entity: selected, ...(fault === 'contradictory' && { error: CANARY }) } }
  },
}

/** The fields of the smaller products. The other products have all fields. */
const SHORT: Readonly<Record<string, readonly string[]>> = {
  nin: [
    'first_name',
    'last_name',
    'middle_name',
    'gender',
    'photo',
    'date_of_birth',
    'email',
    'phone_number',
    'employment_status',
    'marital_status',
  ],
  'bvn/full': [
    'bvn',
    'first_name',
    'last_name',
    'middle_name',
    'gender',
    'date_of_birth',
    'phone_number1',
    'phone_number2',
    'image',
  ],
}

const toProduct = (entity: object, product: string) =>
  Object.fromEntries(Object.entries(entity).filter(([name]) => SHORT[product]?.includes(name) ?? true))

/** The few fields of a virtual NIN, in names of their own, and without the NIN. */
function toVirtualNinEntity(number: string, fault: Fault | undefined) {
  const { personal_info: info } = toNinPerson(number)
  const entity = {
    vnin: fault === 'wrong_person' ? toOtherNumber(number) : number,
    firstname: info.first_name.toUpperCase(),
    middlename: info.middle_name.toUpperCase(),
    surname: info.last_name.toUpperCase(),
    user_id: 'WXABCD-1234',
    gender: info.gender.toUpperCase(),
    mobile: info.phone_number,
    dateOfBirth: info.date_of_birth.split('-').toReversed().join('-'),
    photo: '/9j/4AAQSkZJRg==',
  }
  if (fault !== 'missing_fields') return entity
  return { firstname: entity.firstname, surname: null, mobile: entity.mobile }
}

function toNinEntity(number: string, fault: Fault | undefined) {
  const { personal_info: info, ...record } = toNinPerson(number)
  const entity = {
    nin: fault === 'wrong_person' ? toOtherNumber(number) : number,
    first_name: info.first_name.toUpperCase(),
    last_name: info.last_name.toUpperCase(),
    middle_name: info.middle_name.toUpperCase(),
    date_of_birth: info.date_of_birth.split('-').toReversed().join('-'),
    phone_number: info.phone_number,
    photo: '/9j/4AAQSkZJRg==',
    gender: info.gender === 'm' ? 'Male' : 'Female',
    email: '',
    employment_status: 'employed',
    marital_status: info.marital_status,
    birth_country: record.indigene_info.country_of_birth,
    birth_lga: record.indigene_info.lga_of_birth,
    birth_state: record.indigene_info.state_of_birth,
    educational_level: record.education_profession.educational_level,
    maiden_name: null,
    nspoken_lang: 'YORUBA',
    profession: record.education_profession.profession,
    religion: info.religion,
    residence_address_line_1: record.residential_info.address,
    residence_address_line_2: '',
    residence_status: record.residential_info.residence_status,
    residence_town: '',
    residence_lga: record.residential_info.lga_of_residence,
    residence_state: record.residential_info.state_of_residence,
    ospoken_lang: 'ENGLISH',
    origin_lga: record.indigene_info.lga_of_origin,
    origin_place: '****',
    origin_state: record.indigene_info.state_of_origin,
    height: Number(info.height),
    reference: `dj-${number.slice(0, 3)}-sim`,
  }
  if (fault !== 'missing_fields') return entity
  return { first_name: entity.first_name, last_name: null, phone_number: entity.phone_number }
}

function toBvnEntity(number: string, fault: Fault | undefined) {
  const { personal_info: info, ...record } = toBvnPerson(number)
  const entity = {
    title: 'Mr',
    bvn: fault === 'wrong_person' ? toOtherNumber(number) : Number(number),
    first_name: info.first_name,
    middle_name: info.middle_name,
    last_name: info.last_name,
    date_of_birth: info.date_of_birth,
    email: info.email,
    gender: info.gender,
    phone_number1: info.phone_number,
    phone_number2: '',
    marital_status: info.marital_status,
    nationality: info.nationality,
    nin: record.nin,
    name_on_card: record.name_on_card,
    level_of_account: record.level_of_account,
    enrollment_bank: record.enrolment_bank,
    enrollment_branch: record.enrolment_branch,
    registration_date: '21-Mar-2018',
    residential_address: record.residential_info.residential_address,
    state_of_residence: record.residential_info.state_of_residence,
    lga_of_residence: record.residential_info.lga_of_residence,
    state_of_origin: info.state_of_origin,
    lga_of_origin: info.lga_of_origin,
    watch_listed: fault === 'watchlisted' ? 'YES' : 'NO',
    image: '/9j/4AAQSkZJRg==',
    reference: `dj-${number.slice(0, 3)}-sim`,
  }
  if (fault !== 'missing_fields') return entity
  return { bvn: number, first_name: entity.first_name, phone_number1: entity.phone_number1, last_name: null }
}

const ENTITIES = { nin: toNinEntity, vnin: toVirtualNinEntity, bvn: toBvnEntity } as const
