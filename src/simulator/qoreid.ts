import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import { toHyphenatedDay, toNumericDay } from '../contract/time.ts'
import type { Fault } from './faults.ts'
import { CANARY } from './faults.ts'
import { isUnknown, respellDay, toBvnPerson, toNinPerson, toOtherNumber } from './people.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const TOKEN = 'simulated-qoreid-token'
const CREDENTIALS = { clientId: 'simulated-client', secret: 'simulated-secret' }

const error = (status: number, message: string): VendorReply => ({
  status,
  body: { statusCode: status, message, error: CANARY },
})

/** QoreID as documented: a token first, then {id, summary, status, nin | bvn}. */
export const qoreid: VendorScript = {
  name: 'qoreid',
  settings: (url) => ({
    TABBAT_QOREID_URL: url,
    TABBAT_QOREID_CLIENT_ID: CREDENTIALS.clientId,
    TABBAT_QOREID_SECRET: CREDENTIALS.secret,
    TABBAT_QOREID_NAMES_OPTIONAL: 'on',
  }),
  phoneFields: ['phone'],
  refuse: error,
  tokenPath: '/token',
  answer: ({ method, path, headers, body }, fault) => {
    if (fault === 'unauthorised') return error(401, 'Unauthorized')
    if (path === '/token') return issueToken(body)
    if (headers.authorization !== `Bearer ${TOKEN}`) return error(401, 'Unauthorized')
    if (fault === 'no_funds') return error(402, 'Insufficient wallet balance')
    if (fault === 'error_in_200') return { ...error(500, 'Service unavailable'), status: 200 }
    const [, product, number] = PATH.exec(path) ?? []
    if (method !== 'POST' || !isProduct(product) || number === undefined)
      return { status: 404, body: { statusCode: 404, message: `Cannot POST ${path}`, error: 'Not Found' } }
    if (typeof body !== 'object') return error(400, 'Body must be JSON')
    const [title, toPerson, check] = PRODUCTS[product]
    if (isUnknown(number)) return error(404, `${title} not found`)
    const names = (body ?? {}) as Record<string, unknown>
    if (!areNamesOf(product === 'bvn-premium' ? toBvnPerson(number) : toNinPerson(number), names))
      return { status: 200, body: toMismatch(check, names) }
    return { status: 200, body: toPerson(number, fault) }
  },
}

/** Whether the names in the request are those of the person, also in the other order. All are, if there are none. */
function areNamesOf(
  { personal_info: { first_name, last_name } }: Pick<NinRecord | BvnRecord, 'personal_info'>,
  { firstname, lastname }: Record<string, unknown>,
): boolean {
  const known = [first_name, last_name].map((name) => name.toLowerCase())
  return [firstname, lastname].every(
    (given) => given === undefined || known.includes(String(given).toLowerCase()),
  )
}

/** A mismatch of names comes with 200 and without a record. */
const toMismatch = (check: string, applicant: object) => ({
  id: 10_122_355,
  applicant,
  summary: { [check]: { status: 'NO_MATCH', fieldMatches: { firstname: false, lastname: false } } },
  status: { state: 'complete', status: 'id_mismatch' },
})

function issueToken(body: unknown): VendorReply {
  if (JSON.stringify(body) !== JSON.stringify(CREDENTIALS)) return error(401, 'Unauthorized')
  return { status: 201, body: { accessToken: TOKEN, expiresIn: '7200 secs', tokenType: 'Bearer' } }
}

const toAnswer = (check: string, fields: object, fault: Fault | undefined) => ({
  id: 1_234_567,
  applicant: { firstname: '', lastname: '' },
  summary: { [check]: { status: 'NO_MATCH', fieldMatches: { firstname: false, lastname: false } } },
  status: { state: 'complete', status: fault === 'contradictory' ? 'not_verified' : 'verified' },
  insight: [],
  ...fields,
})

function toNinAnswer(number: string, fault: Fault | undefined) {
  const { personal_info: info, next_of_kin: kin, residential_info: home, ...record } = toNinPerson(number)
  const sparse = { nin: number, firstname: info.first_name, lastname: null, phone: info.phone_number }
  if (fault === 'missing_fields') return toAnswer('nin_check', { nin: sparse }, fault)
  const nin = {
    nin: fault === 'wrong_person' ? toOtherNumber(number) : number,
    title: info.title.toLowerCase(),
    firstname: info.first_name.toUpperCase(),
    middlename: info.middle_name.toUpperCase(),
    lastname: info.last_name.toUpperCase(),
    phone: info.phone_number,
    email: '',
    gender: info.gender,
    height: '****',
    profession: record.education_profession.profession,
    marital_status: info.marital_status,
    employment_status: 'employed',
    birthdate: info.date_of_birth,
    birth_state: record.indigene_info.state_of_birth,
    birth_country: record.indigene_info.country_of_birth,
    next_of_kin: {
      firstname: kin.firstname,
      lastname: kin.surname,
      middlename: '',
      address1: kin.address,
      lga: kin.lga,
      state: kin.state,
      town: kin.town,
    },
    nspokenlang: 'YORUBA',
    ospokenlang: '',
    photo: '/9j/4AAQSkZJRg==',
    religion: info.religion,
    residence: { address1: home.address, lga: home.lga_of_residence, state: home.state_of_residence },
    lga_of_origin: record.indigene_info.lga_of_origin,
    place_of_origin: '****',
    state_of_origin: record.indigene_info.state_of_origin,
    signature: '/9j/4AAQSkZJRg==',
    tracking_id: 'S7Y0XSIMULATED1',
  }
  return toAnswer('nin_check', { nin }, fault)
}

/** A virtual NIN has few fields, and not the NIN. */
function toVirtualNinAnswer(number: string, fault: Fault | undefined) {
  const { personal_info: info } = toNinPerson(number)
  const sparse = { vNin: number, firstname: info.first_name, lastname: null, phone: info.phone_number }
  if (fault === 'missing_fields') return toAnswer('v_nin_check', { v_nin: sparse }, fault)
  const v_nin = {
    firstname: info.first_name.toUpperCase(),
    lastname: info.last_name.toUpperCase(),
    middlename: info.middle_name.toUpperCase(),
    birthdate: respellDay(info.date_of_birth, toHyphenatedDay).replaceAll('-', ' ').toUpperCase(),
    gender: info.gender.toUpperCase(),
    phone: info.phone_number,
    vNin: fault === 'wrong_person' ? toOtherNumber(number) : number,
    photo: '/9j/4AAQSkZJRg==',
  }
  return toAnswer('v_nin_check', { v_nin }, fault)
}

function toBvnAnswer(number: string, fault: Fault | undefined) {
  const { personal_info: info, residential_info: home, ...record } = toBvnPerson(number)
  const sparse = { bvn: number, firstname: info.first_name, phone: info.phone_number }
  if (fault === 'missing_fields') return toAnswer('bvn_check', { bvn: sparse }, fault)
  const bvn = {
    bvn: fault === 'wrong_person' ? toOtherNumber(number) : Number(number),
    firstname: info.first_name,
    middlename: info.middle_name,
    lastname: info.last_name,
    birthdate: respellDay(info.date_of_birth, toNumericDay),
    gender: info.gender,
    phone: info.phone_number,
    photo: '/9j/4AAQSkZJRg==',
    lga_of_origin: info.lga_of_origin,
    marital_status: info.marital_status,
    nationality: info.nationality,
    residential_address: home.residential_address,
    state_of_origin: info.state_of_origin,
    state_of_residence: home.state_of_residence,
    email: info.email,
    enrollment_bank: record.enrolment_bank,
    enrollment_branch: record.enrolment_branch,
    title: 'Mr',
    name_on_card: record.name_on_card,
    level_of_account: record.level_of_account,
  }
  return toAnswer('bvn_check', { bvn }, fault)
}

const PATH = /^\/v1\/ng\/identities\/([a-z-]+)\/(\d{11}|[A-Z]{2}\d{12}[A-Z]{2})$/

const PRODUCTS = {
  nin: ['NIN', toNinAnswer, 'nin_check'],
  'virtual-nin': ['vNIN', toVirtualNinAnswer, 'v_nin_check'],
  'bvn-premium': ['BVN', toBvnAnswer, 'bvn_check'],
} as const

const isProduct = (product: string | undefined): product is keyof typeof PRODUCTS =>
  product !== undefined && Object.hasOwn(PRODUCTS, product)
