import { isVirtualNin } from '../contract/person.ts'
import { toHyphenatedDay, toNumericDay } from '../contract/time.ts'
import type { Fault } from './faults.ts'
import { CANARY } from './faults.ts'
import { isUnknown, respellDay, toBvnPerson, toNinPerson, toOtherNumber } from './people.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const PICTURE = '/9j/4AAQSkZJRg=='

type Outcome = {
  readonly responseCode: string
  readonly description: string
  readonly verificationStatus: 'VERIFIED' | 'NOT VERIFIED' | 'PENDING'
  /** Whether the wallet was debited. */
  readonly transactionStatus: 'successful' | 'failed' | 'refund' | null
}

/** The number is repeated in every answer, also in one without a record. */
function toReply(input: Record<string, unknown>, outcome: Outcome, response: object | null): VendorReply {
  const { verificationType, transactionReference, searchParameter } = input
  return {
    status: 200,
    body: {
      ...outcome,
      verificationType,
      transactionReference: transactionReference || 'sf-simulated-1',
      transactionDate: '2024-02-28T15:00:20.917',
      searchParameter,
      callBackUrl: null,
      livenessScore: null,
      paymentRef: response ? null : CANARY,
      response,
      faceMatch: null,
    },
  }
}

/** The look-up was not made. The statuses, the code 99 and the texts of errors are inferred. */
const error = (status: number, description: string): VendorReply => ({
  status,
  body: {
    responseCode: '99',
    description,
    verificationStatus: 'PENDING',
    transactionStatus: null,
    response: null,
    paymentRef: CANARY,
  },
})

/** Seamfix Verify as documented: one address, and a verification status in every answer. */
export const seamfix: VendorScript = {
  name: 'seamfix',
  settings: (url) => ({
    TABBAT_SEAMFIX_URL: `${url}/sfx-verify`,
    TABBAT_SEAMFIX_USER_ID: 'simulated-user',
    TABBAT_SEAMFIX_API_KEY: 'simulated-key',
  }),
  phoneFields: ['trustedNumber', 'phone', 'alternate_phone'],
  refuse: error,
  answer: ({ method, path, headers, body }, fault) => {
    const isKnown = headers.userid === 'simulated-user' && headers.apikey === 'simulated-key'
    if (!isKnown || fault === 'unauthorised') return error(401, 'Invalid user id or API key')
    if (method !== 'POST' || !/^\/sfx-verify\/v3\/id-service\/?$/.test(path))
      return error(404, `Cannot ${method} ${path}`)
    const input = (body ?? {}) as Record<string, unknown>
    const { verificationType: type, searchParameter: number } = input
    if (!isType(type)) return error(400, 'verificationType is invalid')
    if (typeof number !== 'string' || !isWellFormed(number, type))
      return error(400, 'searchParameter has an invalid format')
    if (type === 'V-NIN' && input.countryCode !== 'NG') return error(400, 'countryCode is required')
    const failed = toFailure(fault)
    if (failed) return toReply(input, failed, null)
    if (isUnknown(number)) return toReply(input, NOT_VERIFIED, null)
    const searchParameter = fault === 'wrong_person' ? toOtherNumber(number) : number
    const outcome = fault === 'contradictory' ? UNAVAILABLE : VERIFIED
    return toReply({ ...input, searchParameter }, outcome, RESPONSES[type](searchParameter, number, fault))
  },
}

const VERIFIED: Outcome = {
  responseCode: '00',
  description: 'Successful',
  verificationStatus: 'VERIFIED',
  transactionStatus: 'successful',
}

/** The status is documented ("the NIN is invalid"). The code and the text beside it are inferred. */
const NOT_VERIFIED: Outcome = { ...VERIFIED, verificationStatus: 'NOT VERIFIED' }

/** A verification that "could not be completed" is documented as PENDING, with a code other than 00. */
const UNAVAILABLE: Outcome = {
  responseCode: '99',
  description: 'Service is not available at the moment',
  verificationStatus: 'PENDING',
  transactionStatus: 'refund',
}

/** The text is inferred. */
const UNPAID: Outcome = {
  ...UNAVAILABLE,
  description: 'Insufficient wallet balance',
  transactionStatus: 'failed',
}

function toFailure(fault: Fault | undefined): Outcome | undefined {
  if (fault === 'no_funds') return UNPAID
  return fault === 'error_in_200' ? UNAVAILABLE : undefined
}

const isWellFormed = (number: string, type: string) =>
  /^(\d{11}|[A-Z]{2}\d{12}[A-Z]{2})$/.test(number) && isVirtualNin(number) === (type === 'V-NIN')

/**
 * The few fields of a NIN. That a NIN has the names of the sample of a virtual NIN is inferred from a public client. The record does not
 * repeat a NIN.
 */
function toNinResponse(_shown: string, number: string, fault: Fault | undefined) {
  const { personal_info: info } = toNinPerson(number)
  const trustedNumber = `234${info.phone_number.slice(1)}`
  if (fault === 'missing_fields') return { firstName: info.first_name, surname: null, trustedNumber }
  return {
    firstName: info.first_name.toUpperCase(),
    surname: info.last_name.toUpperCase(),
    middleName: info.middle_name.toUpperCase(),
    dateOfBirth: respellDay(info.date_of_birth, toHyphenatedDay).replaceAll('-', ' ').toUpperCase(),
    userid: 'ABCDEF-8910',
    gender: info.gender.toUpperCase(),
    trustedNumber,
    txid: 'bd633743-0000-4000-8000-55c63c81a605',
    ts: '2022-06-29T12:08:10.567',
    agentID: 'ABCDEF-8910',
    photo: PICTURE,
  }
}

const toVirtualNinResponse = (shown: string, number: string, fault: Fault | undefined) => ({
  ...toNinResponse(shown, number, fault),
  vnin: shown,
  vNIN: shown,
})

/** The names are those of the sample that public clients quote. */
function toBvnResponse(shown: string, number: string, fault: Fault | undefined) {
  const { personal_info: info, residential_info: home, ...record } = toBvnPerson(number)
  const phone = `234${info.phone_number.slice(1)}`
  if (fault === 'missing_fields') return { bvn: shown, first_name: info.first_name, last_name: null, phone }
  return {
    email: info.email,
    gender: info.gender.toLowerCase(),
    dob: respellDay(info.date_of_birth, toNumericDay),
    phone,
    country: 'nigeria',
    nin: record.nin,
    bvn: shown,
    nationality: info.nationality,
    watchlisted: fault === 'watchlisted',
    avatar: PICTURE,
    full_name: info.full_name.toUpperCase(),
    first_name: info.first_name.toUpperCase(),
    middle_name: info.middle_name.toUpperCase(),
    last_name: info.last_name.toUpperCase(),
    alternate_phone: '',
    state_of_origin: info.state_of_origin,
    state_of_residence: home.state_of_residence,
    lga_of_origin: info.lga_of_origin,
    lga_of_residence: home.lga_of_residence,
    address_line_2: home.residential_address,
    address_line_3: 'nigeria',
    marital_status: info.marital_status.toLowerCase(),
    enrollment_bank: record.enrolment_bank,
    enrollment_branch: record.enrolment_branch,
    account_level: record.level_of_account,
  }
}

const RESPONSES = {
  'NIN-VERIFY': toNinResponse,
  'V-NIN': toVirtualNinResponse,
  'BVN-FULL-DETAILS': toBvnResponse,
} as const

const isType = (type: unknown): type is keyof typeof RESPONSES =>
  typeof type === 'string' && Object.hasOwn(RESPONSES, type)
