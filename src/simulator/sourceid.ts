import { toHyphenatedDay } from '../contract/time.ts'
import type { Fault } from './faults.ts'
import { CANARY } from './faults.ts'
import { isUnknown, respellDay, toBvnPerson, toOtherNumber } from './people.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const PICTURE = '/9j/4AAQSkZJRg=='

const toBody = (status: boolean, code: string, httpCode: number, message: string, data: unknown) => ({
  status,
  responseCode: code,
  statusCode: String(httpCode),
  message,
  data,
  meta: {
    statusCode: String(httpCode),
    isValid: status,
    timeStamp: 'Wed Apr 23 2025 07:13:01 GMT+0000 (Coordinated Universal Time)',
  },
})

/** The documents show no errors: their envelope, codes and texts are inferred from the answer and from vendors with the same record. */
const error = (status: number, message: string, code = '99', httpCode = status): VendorReply => ({
  status,
  body: toBody(false, code, httpCode, message, CANARY),
})

/** SourceID as documented: {"status": true, "responseCode": "00", "data", "meta"}. BVN only. */
export const sourceid: VendorScript = {
  name: 'sourceid',
  settings: (url) => ({ TABBAT_SOURCEID_URL: url, TABBAT_SOURCEID_API_KEY: 'simulated-key' }),
  phoneFields: ['phoneNumber1', 'phoneNumber2'],
  refuse: (status, message) => error(status, message),
  answer: ({ method, path, headers, body }, fault) => {
    if (headers['x-api-key'] !== 'simulated-key' || fault === 'unauthorised')
      return error(401, 'Invalid API key')
    if (fault === 'no_funds') return error(402, 'Insufficient wallet balance', '03')
    if (fault === 'error_in_200') return error(200, 'Service is not available', '02', 503)
    if (method !== 'POST' || path !== '/v1/api/verification/bvn')
      return error(404, `Cannot ${method} ${path}`)
    const { country, reference, verificationLevel, bvn } = (body ?? {}) as Record<string, unknown>
    if (country !== 'NGA' || typeof reference !== 'string' || reference === '')
      return error(400, 'country and reference are required')
    // The documents write the level both as "extended" and as "Extended".
    const level = String(verificationLevel).toLowerCase()
    if (level !== 'basic' && level !== 'extended') return error(400, 'verificationLevel is invalid')
    if (typeof bvn !== 'string' || !/^\d{11}$/.test(bvn)) return error(400, 'bvn has an invalid format')
    if (isUnknown(bvn)) return error(404, 'Record not found', '01')
    const data = level === 'basic' ? toBasicData(bvn) : toExtendedData(bvn, fault)
    const message = 'BVN verification successful'
    return { status: 200, body: toBody(fault !== 'contradictory', '00', 200, message, data) }
  },
}

/** The basic level has neither the number nor a phone. */
function toBasicData(number: string) {
  const { personal_info: info } = toBvnPerson(number)
  return {
    firstName: info.first_name,
    lastName: info.last_name,
    middleName: info.middle_name,
    dateOfBirth: respellDay(info.date_of_birth, toHyphenatedDay),
  }
}

/** What is unknown is null. */
function toExtendedData(number: string, fault: Fault | undefined) {
  const { personal_info: info, residential_info: home, ...record } = toBvnPerson(number)
  const sparse = { bvn: number, firstName: info.first_name, lastName: null, phoneNumber1: info.phone_number }
  if (fault === 'missing_fields') return sparse
  return {
    ...toBasicData(number),
    gender: info.gender,
    title: null,
    maritalStatus: info.marital_status,
    watchListed: fault === 'watchlisted' ? 'YES' : 'NO',
    levelOfAccount: record.level_of_account,
    bvn: fault === 'wrong_person' ? toOtherNumber(number) : number,
    phoneNumber1: info.phone_number,
    phoneNumber2: null,
    enrollmentBank: record.enrolment_bank,
    enrollmentBranch: record.enrolment_branch,
    email: info.email,
    lgaOfOrigin: info.lga_of_origin,
    lgaOfResidence: home.lga_of_residence,
    nin: record.nin,
    nameOnCard: record.name_on_card,
    nationality: info.nationality,
    residentialAddress: home.residential_address,
    stateOfOrigin: info.state_of_origin,
    stateOfResidence: home.state_of_residence,
    registrationDate: '21-Mar-2018',
    base64Image: PICTURE,
  }
}
