import { isSameDay, readDay, toIsoDay } from '../contract/time.ts'
import type { Fault } from './faults.ts'
import { CANARY } from './faults.ts'
import { isUnknown, respellDay, toBvnPerson, toNinPerson, toOtherNumber } from './people.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const LOGIN = '/api/v1/auth/login'
const TOKEN = 'simulated-monnify-token'
const KEYS = { apiKey: 'simulated-key', secret: 'simulated-secret' }
const BASIC = `Basic ${Buffer.from(`${KEYS.apiKey}:${KEYS.secret}`).toString('base64')}`

const success = (responseBody: object, requestSuccessful = true): VendorReply => ({
  status: 200,
  body: { requestSuccessful, responseMessage: 'success', responseCode: '0', responseBody },
})

/** The documents show 99 for an invalid BVN. It is inferred that other errors have it too, so that only the text decides. */
const error = (status: number, responseMessage: string): VendorReply => ({
  status,
  body: { requestSuccessful: false, responseMessage, responseCode: '99', responseBody: CANARY },
})

/** Monnify as documented: a token first, then the record of a NIN. Of a BVN it only says whether details match. */
export const monnify: VendorScript = {
  name: 'monnify',
  settings: (url) => ({
    TABBAT_MONNIFY_URL: url,
    TABBAT_MONNIFY_API_KEY: KEYS.apiKey,
    TABBAT_MONNIFY_SECRET: KEYS.secret,
  }),
  phoneFields: ['mobileNumber'],
  refuse: error,
  tokenPath: LOGIN,
  answer: ({ method, path, headers, body }, fault) => {
    // The texts of both errors are inferred.
    const isLogin = path === LOGIN
    if (fault === 'unauthorised' || (isLogin && headers.authorization !== BASIC))
      return error(401, 'Unauthorized')
    if (isLogin) return success({ accessToken: TOKEN, expiresIn: 3567 })
    if (headers.authorization !== `Bearer ${TOKEN}`) return error(401, 'Invalid or expired token')
    // Inferred: the documents have no status for it.
    if (fault === 'no_funds') return error(400, 'Insufficient balance')
    if (fault === 'error_in_200') return error(200, 'Service is not available at the moment')
    const product = PRODUCTS[path as keyof typeof PRODUCTS]
    if (method !== 'POST' || product === undefined) return error(404, `Cannot ${method} ${path}`)
    return product((body ?? {}) as Record<string, unknown>, fault)
  },
}

function findNin({ nin }: Record<string, unknown>, fault: Fault | undefined): VendorReply {
  if (typeof nin !== 'string' || !/^\d{11}$/.test(nin)) return error(400, 'nin must be 11 digits')
  // The status and the text are documented.
  if (isUnknown(nin)) return error(400, 'NIN not found')
  const { personal_info: info } = toNinPerson(nin)
  const mobileNumber = `234${info.phone_number.slice(1)}`
  if (fault === 'missing_fields')
    return success({ nin, lastName: null, firstName: info.first_name, mobileNumber })
  const person = {
    nin: fault === 'wrong_person' ? toOtherNumber(nin) : nin,
    lastName: info.last_name.toUpperCase(),
    firstName: info.first_name.toUpperCase(),
    middleName: info.middle_name.toUpperCase(),
    dateOfBirth: respellDay(info.date_of_birth, toIsoDay),
    gender: info.gender === 'm' ? 'MALE' : 'FEMALE',
    mobileNumber,
  }
  return success(person, fault !== 'contradictory')
}

/** All four inputs are required. The answer has no record. */
function matchBvn(input: Record<string, unknown>, fault: Fault | undefined): VendorReply {
  const { bvn, name, dateOfBirth, mobileNo } = input
  if (![bvn, name, dateOfBirth, mobileNo].every((each) => typeof each === 'string' && each !== ''))
    return error(400, 'bvn, name, dateOfBirth and mobileNo are required')
  const number = String(bvn)
  if (!/^\d{11}$/.test(number)) return error(400, 'bvn must be 11 digits')
  if (!/^\d{2}-[A-Z][a-z]{2}-\d{4}$/.test(String(dateOfBirth)))
    return error(400, 'dateOfBirth must have the format dd-MMM-yyyy')
  // The code is documented, the text is that of public clients, the status is inferred.
  if (isUnknown(number)) return error(400, 'Unable to process request. Invalid BVN provided')
  const { personal_info: info } = toBvnPerson(number)
  const match = {
    bvn: fault === 'wrong_person' ? toOtherNumber(number) : number,
    name: matchNames(String(name), info.full_name),
    dateOfBirth: toMatch(isSame(String(dateOfBirth), info.date_of_birth)),
    mobileNo: toMatch(String(mobileNo).slice(-10) === info.phone_number.slice(-10)),
  }
  return success(
    fault === 'missing_fields' ? { ...match, dateOfBirth: null } : match,
    fault !== 'contradictory',
  )
}

const toMatch = (isEqual: boolean) => (isEqual ? 'FULL_MATCH' : 'NO_MATCH')

function isSame(one: string, other: string): boolean {
  const [day, otherDay] = [readDay(one), readDay(other)]
  return day !== undefined && otherDay !== undefined && isSameDay(day, otherDay)
}

/** The share of the names that both have, in any order. How Monnify computes it is inferred from its samples. */
function matchNames(given: string, known: string) {
  const [one, other] = [given, known].map((name) => new Set(name.toLowerCase().split(/\s+/).filter(Boolean)))
  const common = [...(one ?? [])].filter((name) => other?.has(name)).length
  const matchPercentage = Math.floor((100 * common) / Math.max(one?.size ?? 0, other?.size ?? 0))
  const partly = matchPercentage > 0 ? 'PARTIAL_MATCH' : 'NO_MATCH'
  return { matchStatus: matchPercentage === 100 ? 'FULL_MATCH' : partly, matchPercentage }
}

const PRODUCTS = { '/api/v1/vas/nin-details': findNin, '/api/v1/vas/bvn-details-match': matchBvn } as const
