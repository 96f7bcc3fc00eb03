import { isVirtualNin } from '../contract/person.ts'
import type { Fault } from './faults.ts'
import { CANARY } from './faults.ts'
import { isUnknown, toBvnPerson, toNinBehind, toNinPerson, toOtherNumber } from './people.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const PICTURE = '/9j/4AAQSkZJRg=='

/** Most errors come with HTTP status 200, and some with "status": true. */
const coded = (code: string, message: string, status = true): VendorReply => ({
  status: 200,
  body: {
    status,
    detail: `${message}. ${CANARY}`,
    response_code: code,
    verification: { status: 'NOT-VERIFIED', reference: 'pb-sim' },
    session: { key: CANARY },
  },
})

/** An error without a code: the look-up was not made. */
const refuse = (status: number, message: string): VendorReply => ({
  status,
  body: { status: false, detail: message, message, session: { key: CANARY } },
})

/** Prembly as documented: a code in every reply, NIMC's spelling for NIN, NIBSS's for BVN. */
export const prembly: VendorScript = {
  name: 'prembly',
  settings: (url) => ({
    TABBAT_PREMBLY_URL: `${url}/verification`,
    TABBAT_PREMBLY_API_KEY: 'simulated-key',
    TABBAT_PREMBLY_APP_ID: 'simulated-app',
  }),
  phoneFields: ['telephoneno', 'phoneNumber1', 'phoneNumber2'],
  refuse,
  answer: ({ method, path, headers, body }, fault) => {
    const isKnown = headers['x-api-key'] === 'simulated-key' && headers['app-id'] === 'simulated-app'
    if (!isKnown || fault === 'unauthorised')
      return { status: 401, body: { status: false, detail: `Invalid key. ${CANARY}` } }
    if (fault === 'no_funds') return coded('03', 'Insufficient wallet balance', false)
    if (fault === 'error_in_200') return coded('02', "Verification can't be completed by this time")
    const input = (body ?? {}) as Record<string, unknown>
    const nin = method === 'POST' && path === '/verification/vnin' ? input.number_nin : undefined
    const isBvn = path === '/verification/bvn' || path === BASIC_BVN
    const bvn = method === 'POST' && isBvn ? input.number : undefined
    const number = nin ?? bvn
    if (typeof number !== 'string') return { status: 400, body: { status: false, message: CANARY } }
    const reply = lookUp(number, nin === undefined ? 'bvn' : 'nin', fault)
    return path === BASIC_BVN ? toBasicBvn(reply, number) : reply
  },
}

const BASIC_BVN = '/verification/bvn_validation'

/** The basic product has few fields, and repeats the number beside the record only. */
function toBasicBvn({ status, body }: VendorReply, number: string): VendorReply {
  const { data, ...envelope } = body as { readonly data?: ReturnType<typeof toBvnData>['data'] }
  if (!data) return { status, body }
  const { firstName, lastName, phoneNumber1: phoneNumber } = data
  const more = 'middleName' in data ? { middleName: data.middleName, dateOfBirth: data.dateOfBirth } : {}
  const basic = { firstName, ...more, lastName, phoneNumber }
  return { status, body: { ...envelope, data: basic, request_data: { number } } }
}

function lookUp(number: string, kind: 'nin' | 'bvn', fault: Fault | undefined): VendorReply {
  if (isUnknown(number)) return coded('01', `Record not found: ${number}`)
  if (fault === 'watchlisted' && kind === 'bvn') return coded('07', `Blocked: ${number}`, false)
  const found = kind === 'bvn' ? toBvnData(number, fault) : toNinData(number, fault)
  const envelope = {
    ...toEnvelope(number),
    // The newest samples omit it.
    ...(fault === 'missing_fields' && { verification: undefined }),
    ...(fault === 'contradictory' && { status: false }),
  }
  return { status: 200, body: { ...envelope, ...found } }
}

const toEnvelope = (number: string) => ({
  status: true,
  detail: 'Verification Successful',
  response_code: '00',
  verification: { status: 'VERIFIED', reference: `pb-${number.slice(0, 3)}-sim`, verification_id: 7 },
  session: { key: CANARY },
  endpoint_name: 'simulated',
})

/** With a virtual NIN, the record has the NIN behind it. */
function toNumbers(number: string, fault: Fault | undefined) {
  const shown = fault === 'wrong_person' ? toOtherNumber(number) : number
  return isVirtualNin(number) ? { nin: toNinBehind(number), vnin: shown } : { nin: shown, vnin: '' }
}

function toNinData(number: string, fault: Fault | undefined) {
  const { personal_info: info, ...record } = toNinPerson(number)
  const person = {
    ...toNumbers(number, fault),
    title: info.title.toLowerCase(),
    firstname: info.first_name.toUpperCase(),
    middlename: info.middle_name.toUpperCase(),
    surname: info.last_name.toUpperCase(),
    psurname: '',
    birthdate: info.date_of_birth,
    birthcountry: record.indigene_info.country_of_birth,
    birthstate: record.indigene_info.state_of_birth,
    birthlga: record.indigene_info.lga_of_birth,
    gender: info.gender,
    heigth: Number(info.height),
    maritalstatus: info.marital_status,
    telephoneno: info.phone_number,
    email: null,
    religion: info.religion,
    profession: record.education_profession.profession,
    emplymentstatus: 'employed',
    educationallevel: record.education_profession.educational_level,
    nspokenlang: 'YORUBA',
    residence_AdressLine1: record.residential_info.address,
    residence_Town: null,
    residence_lga: record.residential_info.lga_of_residence,
    residence_state: record.residential_info.state_of_residence,
    residencestatus: record.residential_info.residence_status,
    self_origin_lga: record.indigene_info.lga_of_origin,
    self_origin_place: '********',
    self_origin_state: record.indigene_info.state_of_origin,
    nok_firstname: record.next_of_kin.firstname,
    nok_surname: record.next_of_kin.surname,
    nok_address1: record.next_of_kin.address,
    nok_address2: null,
    nok_lga: record.next_of_kin.lga,
    nok_town: record.next_of_kin.town,
    nok_state: record.next_of_kin.state,
    photo: PICTURE,
    signature: PICTURE,
    central_iD: 12345678,
    trackingId: 'SIMULATED',
  }
  if (fault !== 'missing_fields') return { nin_data: person }
  return { nin_data: { nin: person.nin, firstname: person.firstname, telephoneno: person.telephoneno } }
}

function toBvnData(number: string, fault: Fault | undefined) {
  const { personal_info: info, ...record } = toBvnPerson(number)
  const person = {
    bvn: Number(fault === 'wrong_person' ? toOtherNumber(number) : number),
    firstName: info.first_name,
    middleName: info.middle_name,
    lastName: info.last_name,
    dateOfBirth: info.date_of_birth,
    registrationDate: '21-Mar-18',
    enrollmentBank: record.enrolment_bank,
    enrollmentBranch: record.enrolment_branch,
    email: null,
    gender: info.gender,
    levelOfAccount: record.level_of_account,
    lgaOfOrigin: info.lga_of_origin,
    lgaOfResidence: record.residential_info.lga_of_residence,
    maritalStatus: info.marital_status,
    nin: record.nin,
    nameOnCard: record.name_on_card,
    nationality: info.nationality,
    phoneNumber1: info.phone_number,
    phoneNumber2: null,
    residentialAddress: record.residential_info.residential_address,
    stateOfOrigin: info.state_of_origin,
    stateOfResidence: record.residential_info.state_of_residence,
    title: 'Mr',
    watchListed: 'NO',
    base64Image: PICTURE,
  }
  if (fault !== 'missing_fields') return { data: person }
  return {
    data: { bvn: number, firstName: person.firstName, lastName: null, phoneNumber1: info.phone_number },
  }
}
