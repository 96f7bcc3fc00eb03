import { isVirtualNin } from '../contract/person.ts'
import { toIsoDay } from '../contract/time.ts'
import type { Fault } from './faults.ts'
import { CANARY } from './faults.ts'
import { isUnknown, respellDay, toBvnPerson, toNinPerson, toOtherNumber } from './people.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const PICTURE = 'data:image/jpeg;base64,/9j/4AAQSkZJRg=='

/** The documents have "status": false and a message. All texts of errors, and what stands in "data", are inferred. */
const error = (status: number, message: string): VendorReply => ({
  status,
  body: { status: false, message, data: CANARY },
})

/** Korapay as documented: {"status": true, "message", "data": {"id", "id_type", …}}. */
export const korapay: VendorScript = {
  name: 'korapay',
  settings: (url) => ({ TABBAT_KORAPAY_URL: url, TABBAT_KORAPAY_SECRET: 'simulated-secret' }),
  phoneFields: ['phone_number', 'other_mobile'],
  refuse: error,
  answer: ({ method, path, headers, body }, fault) => {
    if (headers.authorization !== 'Bearer simulated-secret' || fault === 'unauthorised')
      return error(401, 'Invalid authorization key')
    if (fault === 'no_funds') return error(400, 'Insufficient balance')
    if (fault === 'error_in_200') return error(200, 'Service is not available at the moment')
    const kind = /^\/identities\/ng\/(v?nin|bvn)$/.exec(path)?.[1] as keyof typeof KINDS | undefined
    if (method !== 'POST' || kind === undefined) return error(404, `Cannot ${method} ${path}`)
    const { id, verification_consent } = (body ?? {}) as Record<string, unknown>
    if (verification_consent !== true) return error(400, 'verification_consent is required')
    const [title, toPerson] = KINDS[kind]
    if (typeof id !== 'string' || !isWellFormed(id, kind)) return error(400, `Invalid ${title} format`)
    if (isUnknown(id)) return error(404, `${title} not found`)
    const data = {
      reference: `VR-${id.slice(0, 3)}-sim`,
      id: fault === 'wrong_person' ? toOtherNumber(id) : id,
      id_type: `ng_${kind}`,
      ...toPerson(id, fault),
      requested_by: 'API User',
    }
    const status = fault !== 'contradictory'
    return { status: 200, body: { status, message: `${title} verified successfully`, data } }
  },
}

const isWellFormed = (id: string, kind: string) =>
  /^(\d{11}|[A-Z]{2}\d{12}[A-Z]{2})$/.test(id) && isVirtualNin(id) === (kind === 'vnin')

/** The fields that every look-up has. Of a virtual NIN, the documents show no others. */
function toBasics(number: string, fault: Fault | undefined) {
  const { personal_info: info } = toNinPerson(number)
  const sparse = { first_name: info.first_name, last_name: null, phone_number: info.phone_number }
  if (fault === 'missing_fields') return sparse
  return {
    first_name: info.first_name.toUpperCase(),
    last_name: info.last_name.toUpperCase(),
    middle_name: info.middle_name.toUpperCase(),
    full_name: info.full_name.toUpperCase(),
    date_of_birth: respellDay(info.date_of_birth, toIsoDay),
    phone_number: info.phone_number,
    gender: info.gender === 'm' ? 'male' : 'female',
    image: PICTURE,
  }
}

/** The fields beyond the basic ones are inferred from a public client. */
function toNinFields(number: string, fault: Fault | undefined) {
  const { personal_info: info, ...record } = toNinPerson(number)
  if (fault === 'missing_fields') return toBasics(number, fault)
  return {
    ...toBasics(number, fault),
    address: {
      town: null,
      lga: record.residential_info.lga_of_residence,
      state: record.residential_info.state_of_residence,
      street: record.residential_info.address,
    },
    email: null,
    birth_state: record.indigene_info.state_of_birth,
    birth_lga: record.indigene_info.lga_of_birth,
    birth_country: record.indigene_info.country_of_birth,
    next_of_kin_state: record.next_of_kin.state,
    religion: info.religion,
    signature: PICTURE,
  }
}

function toBvnFields(number: string, fault: Fault | undefined) {
  const { personal_info: info, residential_info: home, ...record } = toBvnPerson(number)
  const sparse = { first_name: info.first_name, last_name: null, phone_number: info.phone_number }
  if (fault === 'missing_fields') return sparse
  return {
    first_name: info.first_name,
    last_name: info.last_name,
    middle_name: info.middle_name,
    date_of_birth: respellDay(info.date_of_birth, toIsoDay),
    phone_number: info.phone_number,
    gender: info.gender.toLowerCase(),
    enrollment_branch: record.enrolment_branch,
    enrollment_institution: record.enrolment_bank,
    registration_date: '2018-03-21',
    nin: record.nin,
    level_of_account: record.level_of_account,
    address: {
      town: null,
      lga: home.lga_of_residence,
      state: home.state_of_residence,
      street: home.residential_address,
    },
    title: null,
    marital_status: info.marital_status,
    lga_of_origin: info.lga_of_origin,
    other_mobile: null,
    state_of_origin: info.state_of_origin,
    // The document has null. Yes and no are inferred.
    watch_listed: fault === 'watchlisted' ? 'YES' : null,
    name_on_card: record.name_on_card,
    image: PICTURE,
  }
}

const KINDS = {
  nin: ['NIN', toNinFields],
  bvn: ['BVN', toBvnFields],
  vnin: ['vNIN', toBasics],
} as const
