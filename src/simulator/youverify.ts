import { isVirtualNin } from '../contract/person.ts'
import { toIsoDay } from '../contract/time.ts'
import type { Fault } from './faults.ts'
import { CANARY } from './faults.ts'
import { isUnknown, respellDay, toBvnPerson, toNinPerson, toOtherNumber } from './people.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const PICTURE = 'data:image/jpg;base64,/9j/4AAQSkZJRg=='

const error = (code: number, message: string, status = code): VendorReply => ({
  status,
  body: {
    success: false,
    statusCode: code,
    message,
    name: 'SimulatedError',
    data: { detail: CANARY },
  },
})

const success = (data: object, isTrue = true): VendorReply => ({
  status: 200,
  body: { success: isTrue, statusCode: 200, message: 'success', data, links: [] },
})

/** Youverify as documented: "found" or "not_found" in the data, both with 200. */
export const youverify: VendorScript = {
  name: 'youverify',
  settings: (url) => ({ TABBAT_YOUVERIFY_URL: url, TABBAT_YOUVERIFY_TOKEN: 'simulated-token' }),
  phoneFields: ['mobile', 'otherMobile'],
  refuse: error,
  answer: ({ method, path, headers, body }, fault) => {
    if (headers.token !== 'simulated-token' || fault === 'unauthorised') return error(401, 'Wrong token')
    if (fault === 'no_funds') return error(402, 'Insufficient fund')
    if (fault === 'error_in_200') return error(503, 'Service is down', 200)
    const type = /^\/v2\/api\/identity\/ng\/(v?nin|bvn)$/.exec(path)?.[1]
    if (method !== 'POST' || type === undefined) return error(404, 'No such route')
    const { id, isSubjectConsent } = (body ?? {}) as Record<string, unknown>
    if (typeof id !== 'string' || isSubjectConsent !== true) return error(400, 'Consent is required')
    if ((type === 'vnin') !== isVirtualNin(id)) return error(400, 'id has an invalid format')
    if (isUnknown(id)) return success({ ...toFrame(id, type), status: 'not_found', reason: CANARY })
    const idNumber = fault === 'wrong_person' ? toOtherNumber(id) : id
    const person = type === 'bvn' ? toBvnData(id, fault) : toNinData(id, fault)
    const virtual = type === 'vnin' ? { vNIN: idNumber, vNINUserId: 'sim', agentId: 'sim' } : {}
    const data = { ...toFrame(idNumber, type), status: 'found', reason: null, ...person, ...virtual }
    return success(data, fault !== 'contradictory')
  },
}

/** Youverify also returns the user that made the request, who is not the person of the record. */
const toFrame = (idNumber: string, type: string) => ({
  id: `yv-${idNumber.slice(0, 3)}-sim`,
  parentId: null,
  idNumber,
  type,
  allValidationPassed: false,
  isConsent: true,
  country: 'NG',
  requestedBy: { firstName: 'Simulated', lastName: 'User', id: 'sim' },
})

function toNinData(number: string, fault: Fault | undefined) {
  const { personal_info: info, ...record } = toNinPerson(number)
  if (fault === 'missing_fields')
    return { firstName: info.first_name, mobile: info.phone_number, address: null }
  return {
    firstName: info.first_name.toUpperCase(),
    middleName: null,
    lastName: info.last_name.toUpperCase(),
    dateOfBirth: respellDay(info.date_of_birth, toIsoDay),
    gender: info.gender === 'm' ? 'Male' : 'Female',
    mobile: `234${info.phone_number.slice(1)}`,
    email: null,
    image: PICTURE,
    signature: PICTURE,
    religion: info.religion,
    birthState: record.indigene_info.state_of_birth,
    birthLGA: record.indigene_info.lga_of_birth,
    birthCountry: record.indigene_info.country_of_birth,
    nokState: record.next_of_kin.state,
    address: {
      addressLine: record.residential_info.address,
      town: '',
      lga: record.residential_info.lga_of_residence,
      state: record.residential_info.state_of_residence,
    },
  }
}

function toBvnData(number: string, fault: Fault | undefined) {
  const { personal_info: info, ...record } = toBvnPerson(number)
  if (fault === 'missing_fields')
    return { firstName: info.first_name, lastName: null, mobile: info.phone_number }
  return {
    idNumber: Number(fault === 'wrong_person' ? toOtherNumber(number) : number),
    firstName: info.first_name,
    middleName: info.middle_name,
    lastName: info.last_name,
    dateOfBirth: `${respellDay(info.date_of_birth, toIsoDay)}T00:00:00.000Z`,
    gender: info.gender,
    mobile: info.phone_number,
    email: info.email,
    nin: record.nin,
    shouldRetrivedNin: false,
    enrollmentBranch: record.enrolment_branch,
    enrollmentInstitution: Number(record.enrolment_bank),
    registrationDate: '2018-03-21',
    levelOfAccount: record.level_of_account,
    title: 'Mr',
    maritalStatus: info.marital_status,
    lgaOfOrigin: info.lga_of_origin,
    stateOfOrigin: info.state_of_origin,
    otherMobile: null,
    watchListed: fault === 'watchlisted' ? 'YES' : 'NO',
    nameOnCard: record.name_on_card,
    fullDetails: false,
    image: PICTURE,
    address: null,
  }
}
