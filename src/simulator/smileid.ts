import { createHmac } from 'node:crypto'
import { isVirtualNin } from '../contract/person.ts'
import { toIsoDay } from '../contract/time.ts'
import type { Fault } from './faults.ts'
import { CANARY } from './faults.ts'
import { isUnknown, respellDay, toBvnPerson, toNinPerson, toOtherNumber } from './people.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const PARTNER_ID = '023'
const API_KEY = 'simulated-key'
const PICTURE = '/9j/4AAQSkZJRg=='
/** What the vendor writes where it has no value. */
const NONE = 'Not Available'

/** A request that failed validation. It has no job. */
const error = (status: number, code: string, text: string): VendorReply => ({
  status,
  body: { code, error: text },
})

/** Smile ID v1 Enhanced KYC as documented: a signed request, and a result code beside the fields of the person. */
export const smileid: VendorScript = {
  name: 'smileid',
  settings: (url) => ({
    TABBAT_SMILEID_URL: url,
    TABBAT_SMILEID_PARTNER_ID: PARTNER_ID,
    TABBAT_SMILEID_API_KEY: API_KEY,
  }),
  phoneFields: ['PhoneNumber', 'PhoneNumber2'],
  // No document lists this code: the text alone says what is wrong.
  refuse: (status, message) => error(status, '2299', message),
  answer: ({ method, path, body }, fault) => {
    if (method !== 'POST' || path !== '/v1/id_verification') return error(404, '2299', 'Not Found')
    const input = (body ?? {}) as Record<string, unknown>
    // It is inferred that a wrong timestamp is refused as a parameter of the wrong type.
    if (!isIsoTime(input.timestamp)) return error(400, '2204', 'A parameter is of the wrong data type')
    if (!isSigned(input) || fault === 'unauthorised') return error(400, '2204', 'unauthorized')
    // Inferred: the documents have no code for it.
    if (fault === 'no_funds') return error(402, '2299', 'Insufficient wallet balance')
    const kind = KINDS[input.id_type as keyof typeof KINDS]
    if (kind === undefined || !isComplete(input)) return error(400, '2213', 'A required parameter is missing')
    if (!isNewJob(input)) return error(400, '2215', 'Error - Job already exists for job_id')
    const number = String(input.id_number)
    if (fault === 'error_in_200')
      return toResult(input, '1015', `Error - Queried Database Unavailable. ${CANARY}`)
    if (!isWellFormed(number, kind === toVirtualNinFields))
      return toResult(input, '1014', 'Error - Unsupported ID number format')
    if (isUnknown(number)) return toResult(input, '1013', 'Unable to Validate ID')
    const fields = kind(number, fault)
    const IDNumber = fault === 'wrong_person' ? toOtherNumber(number) : number
    const Actions = toActions(fault !== 'contradictory')
    return toResult(input, '1012', 'ID Number Validated', { Actions, IDNumber, ...fields })
  },
}

/** Base64 of HMAC-SHA256 over the time, the partner and a fixed text. */
const sign = (timestamp: string) =>
  createHmac('sha256', API_KEY).update(`${timestamp}${PARTNER_ID}sid_request`).digest('base64')

const isSigned = ({ partner_id, timestamp, signature }: Record<string, unknown>) =>
  partner_id === PARTNER_ID && signature === sign(String(timestamp))

const isIsoTime = (time: unknown) =>
  typeof time === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)$/.test(time) &&
  !Number.isNaN(Date.parse(time))

const REQUIRED = ['source_sdk', 'source_sdk_version', 'id_number'] as const

/** The job type may be left out: the address says it. */
function isComplete(input: Record<string, unknown>): boolean {
  const { job_id, user_id, job_type = 5 } = (input.partner_params ?? {}) as Record<string, unknown>
  const texts = [...REQUIRED.map((name) => input[name]), job_id, user_id]
  const areGiven = texts.every((text) => typeof text === 'string' && text !== '')
  return areGiven && input.country === 'NG' && String(job_type) === '5'
}

const MAX_JOBS = 100_000
const jobs = new Set<unknown>()

/** A job id is used once. The vendor keeps all of them; here the oldest are forgotten. */
function isNewJob({ partner_params }: Record<string, unknown>): boolean {
  const { job_id } = partner_params as Record<string, unknown>
  if (jobs.has(job_id)) return false
  jobs.add(job_id)
  if (jobs.size > MAX_JOBS) jobs.delete(jobs.values().next().value)
  return true
}

const isWellFormed = (number: string, isVirtual: boolean) =>
  /^(\d{11}|[a-zA-Z0-9]{16})$/.test(number) && isVirtualNin(number) === isVirtual

const toActions = (isVerified: boolean) => ({
  Verify_ID_Number: isVerified ? 'Verified' : 'Not Verified',
  Return_Personal_Info: isVerified ? 'Returned' : 'Not Returned',
})

/** All results come with HTTP status 200 and are signed as requests are. */
function toResult(input: Record<string, unknown>, code: string, text: string, person?: object): VendorReply {
  const timestamp = new Date().toISOString()
  return {
    status: 200,
    body: {
      JSONVersion: '1.0.0',
      SmileJobID: '0000001096',
      PartnerParams: input.partner_params,
      ResultType: 'ID Verification',
      ResultText: text,
      ResultCode: code,
      IsFinalResult: 'true',
      Actions: toActions(false),
      Country: 'NG',
      IDType: input.id_type,
      IDNumber: input.id_number,
      ...person,
      Source: 'ID API',
      timestamp,
      signature: sign(timestamp),
    },
  }
}

/** All fields are texts. The names come as one. */
function toNinFields(number: string, fault: Fault | undefined) {
  const { personal_info: info, residential_info: home } = toNinPerson(number)
  if (fault === 'missing_fields') return { FullName: info.first_name, PhoneNumber: info.phone_number }
  return {
    ExpirationDate: NONE,
    FullName: info.full_name.toUpperCase(),
    DOB: respellDay(info.date_of_birth, toIsoDay),
    Photo: PICTURE,
    PhoneNumber: info.phone_number,
    Gender: info.gender.toUpperCase(),
    Address: home.address,
  }
}

const toVirtualNinFields = (number: string, fault: Fault | undefined) =>
  fault === 'missing_fields'
    ? toNinFields(number, fault)
    : { ...toNinFields(number, fault), PhoneNumber2: NONE }

function toBvnFields(number: string, fault: Fault | undefined) {
  const { personal_info: info, residential_info: home } = toBvnPerson(number)
  if (fault === 'missing_fields') return { FullName: info.first_name, PhoneNumber: info.phone_number }
  return {
    ExpirationDate: NONE,
    FullName: info.full_name,
    DOB: respellDay(info.date_of_birth, toIsoDay),
    Photo: PICTURE,
    PhoneNumber: info.phone_number,
    PhoneNumber2: NONE,
    Gender: info.gender,
    Address: home.residential_address,
  }
}

const KINDS = { NIN_V2: toNinFields, V_NIN: toVirtualNinFields, BVN: toBvnFields } as const
