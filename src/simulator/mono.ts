import type { Fault } from './faults.ts'
import { CANARY } from './faults.ts'
import { isUnknown, toNinPerson, toOtherNumber } from './people.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const PICTURE = '/9j/4AAQSkZJRg=='
const TIMESTAMP = '2024-02-28T15:00:20.917Z'

/** The documents list the statuses and "message". The status "failed" and what stands in "data" are inferred. */
const error = (status: number, message: string): VendorReply => ({
  status,
  body: { status: 'failed', message, timestamp: TIMESTAMP, data: CANARY },
})

/** Mono as documented: {"status": "successful", "message", "timestamp", "data"}, with NIMC's spelling. NIN only. */
export const mono: VendorScript = {
  name: 'mono',
  settings: (url) => ({ TABBAT_MONO_URL: url, TABBAT_MONO_SECRET: 'simulated-secret' }),
  phoneFields: ['telephoneno'],
  refuse: error,
  answer: ({ method, path, headers, body }, fault) => {
    if (headers['mono-sec-key'] !== 'simulated-secret' || fault === 'unauthorised')
      return error(401, 'Unauthorized')
    // The status is documented, the text is inferred.
    if (fault === 'no_funds') return error(402, 'Insufficient wallet balance')
    if (fault === 'error_in_200') return error(200, 'Unable to reach service')
    if (method !== 'POST' || path !== '/v3/lookup/nin') return error(404, `Cannot ${method} ${path}`)
    const { nin } = (body ?? {}) as Record<string, unknown>
    if (typeof nin !== 'string' || !/^\d{11}$/.test(nin)) return error(400, 'nin must be 11 digits')
    // As a public client expects it.
    if (isUnknown(nin)) return error(404, 'NIN not found')
    const status = fault === 'contradictory' ? 'failed' : 'successful'
    const message = 'NIN Lookup Successfull'
    return { status: 200, body: { status, message, timestamp: TIMESTAMP, data: toNinData(nin, fault) } }
  },
}

function toNinData(number: string, fault: Fault | undefined) {
  const { personal_info: info, next_of_kin: kin, residential_info: home, ...record } = toNinPerson(number)
  // The document has 234… without a plus.
  const telephoneno = `234${info.phone_number.slice(1)}`
  if (fault === 'missing_fields')
    return { nin: number, firstname: info.first_name, surname: null, telephoneno }
  return {
    birthcountry: record.indigene_info.country_of_birth.toLowerCase(),
    birthdate: info.date_of_birth,
    birthlga: record.indigene_info.lga_of_birth,
    birthstate: record.indigene_info.state_of_birth,
    centralID: '12345678',
    educationallevel: record.education_profession.educational_level,
    email: '',
    employmentstatus: 'employed',
    firstname: info.first_name.toUpperCase(),
    gender: info.gender,
    height: info.height,
    maritalstatus: info.marital_status,
    middlename: info.middle_name.toUpperCase(),
    nin: fault === 'wrong_person' ? toOtherNumber(number) : number,
    nok_address1: kin.address,
    nok_address2: '',
    nok_firstname: kin.firstname,
    nok_lga: kin.lga,
    nok_middlename: '',
    nok_postalcode: '',
    nok_state: kin.state,
    nok_surname: kin.surname,
    nok_town: kin.town,
    photo: PICTURE,
    profession: record.education_profession.profession,
    religion: info.religion,
    residence_address: home.address,
    residence_lga: home.lga_of_residence,
    residence_state: home.state_of_residence,
    residence_town: '',
    residencestatus: home.residence_status,
    self_origin_lga: record.indigene_info.lga_of_origin,
    self_origin_place: '****',
    self_origin_state: record.indigene_info.state_of_origin,
    signature: PICTURE,
    surname: info.last_name.toUpperCase(),
    telephoneno,
    title: info.title.toLowerCase(),
    trackingId: 'SIMULATED',
  }
}
