import type { Fault } from './faults.ts'
import { PLANTED } from './faults.ts'
import { isNobody, toBvnPerson, toNinPerson, toOther } from './people.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const error = (status: number, said: string): VendorReply => ({
  status,
  body: { error: said, reference: PLANTED },
})

/** Dojah as its documents describe it: {"entity": …}, errors as {"error": "text"}. */
export const dojah: VendorScript = {
  name: 'dojah',
  settings: (url) => ({
    TABBAT_DOJAH_URL: url,
    TABBAT_DOJAH_APP_ID: 'simulated-app',
    TABBAT_DOJAH_SECRET: 'simulated-secret',
  }),
  phoneFields: ['telephone', 'phone_number', 'phone_number1', 'phone_number2'],
  refuse: error,
  answer: ({ path, query, headers }, fault) => {
    if (headers.authorization !== 'simulated-secret' || fault === 'unauthorised')
      return error(401, 'Unauthorized')
    if (fault === 'no_funds') return error(402, 'Your balance is low, pls visit the dashboard to top up')
    if (fault === 'error_in_200') return { ...error(200, 'Unable to reach service') }
    const nin = path === '/api/v1/kyc/nin' ? query.get('nin') : null
    const bvn = path.startsWith('/api/v1/kyc/bvn/') ? query.get('bvn') : null
    const number = nin ?? bvn
    if (number === null) return error(400, 'Bad request')
    if (isNobody(number)) return error(404, nin === null ? 'BVN not found' : 'NIN not found')
    const entity = nin === null ? toBvnEntity(number, fault) : toNinEntity(number, fault)
    return { status: 200, body: { entity, ...(fault === 'contradictory' && { error: PLANTED }) } }
  },
}

function toNinEntity(number: string, fault: Fault | undefined) {
  const { personal_info: info, ...record } = toNinPerson(number)
  const entity = {
    nin: fault === 'wrong_person' ? toOther(number) : number,
    title: info.title.toLowerCase(),
    first_name: info.first_name.toUpperCase(),
    middle_name: info.middle_name.toUpperCase(),
    surname: info.last_name.toUpperCase(),
    maiden_name: null,
    birth_date: info.date_of_birth,
    birth_country: record.indigene_info.country_of_birth,
    birth_state: record.indigene_info.state_of_birth,
    birth_lga: record.indigene_info.lga_of_birth,
    gender: info.gender,
    height: Number(info.height),
    marital_status: info.marital_status,
    email: '',
    telephone: info.phone_number,
    religion: info.religion,
    profession: record.education_profession.profession,
    employment_status: 'employed',
    educational_level: record.education_profession.educational_level,
    spoken_language: 'YORUBA',
    residence_address: record.residential_info.address,
    residence_town: '',
    residence_lga: record.residential_info.lga_of_residence,
    residence_state: record.residential_info.state_of_residence,
    residence_status: record.residential_info.residence_status,
    origin_lga: record.indigene_info.lga_of_origin,
    origin_place: '****',
    origin_state: record.indigene_info.state_of_origin,
    nok_first_name: record.next_of_kin.firstname,
    nok_surname: record.next_of_kin.surname,
    nok_address_1: record.next_of_kin.address,
    nok_address_2: ['', null],
    nok_lga: record.next_of_kin.lga,
    nok_town: record.next_of_kin.town,
    nok_state: record.next_of_kin.state,
    picture: '/9j/4AAQSkZJRg==',
    signature: '/9j/4AAQSkZJRg==',
    central_id: '12345678',
    reference: `dj-${number.slice(0, 3)}-sim`,
  }
  if (fault !== 'missing_fields') return entity
  return { first_name: entity.first_name, surname: null, telephone: entity.telephone }
}

function toBvnEntity(number: string, fault: Fault | undefined) {
  const { personal_info: info, ...record } = toBvnPerson(number)
  const entity = {
    title: 'Mr',
    bvn: fault === 'wrong_person' ? toOther(number) : Number(number),
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
