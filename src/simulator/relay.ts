import { toPhoneCore } from '../contract/person.ts'
import type { Fault } from './faults.ts'
import { CANARY } from './faults.ts'
import { isUnknown, toBvnPerson, toNinPerson, toOtherNumber, toPhoneCoreOf } from './people.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const TOKEN = 'simulated-relay-token'
const BASIC = `Basic ${Buffer.from('simulated-public:simulated-secret').toString('base64')}`

const failure = (status: number, message: string): VendorReply => ({
  status,
  body: { success: false, message, detail: CANARY },
})

/** Another server of this API that issues tokens. Its reply for "not verified" is not documented; this one has only a text. */
export const relay: VendorScript = {
  name: 'relay',
  settings: (url) => ({
    TABBAT_RELAY_URL: `${url}/api/v2`,
    TABBAT_RELAY_PUBLIC_KEY: 'simulated-public',
    TABBAT_RELAY_SECRET_KEY: 'simulated-secret',
    TABBAT_RELAY_AMOUNT: '50',
  }),
  phoneFields: ['phone_number', 'phone_number_2'],
  refuse: failure,
  tokenPath: '/api/v2/merchant/authorization',
  answer: ({ method, path, headers, body }, fault) => {
    if (fault === 'unauthorised') return { status: 401, body: { message: `Unauthenticated. ${CANARY}` } }
    if (path === '/api/v2/merchant/authorization') return issueToken(headers.authorization)
    if (headers.authorization !== `Bearer ${TOKEN}`)
      return { status: 401, body: { message: `Unauthenticated. ${CANARY}` } }
    if (fault === 'no_funds') return failure(402, 'Insufficient balance')
    if (fault === 'error_in_200') return failure(200, 'Service not available')
    const kind = path.replace('/api/v2/kyc/verify-', '')
    if (method !== 'POST' || (kind !== 'nin' && kind !== 'bvn'))
      return { status: 404, body: { message: `The route ${path} could not be found.` } }
    return verify(kind, (body ?? {}) as Record<string, unknown>, fault)
  },
}

function issueToken(authorization: string | undefined): VendorReply {
  if (authorization !== BASIC) return failure(401, 'Invalid keys')
  const expires_at = '2099-01-01 12:00:00'
  return {
    status: 200,
    body: { success: true, data: { token: { access_token: TOKEN, token_type: 'Bearer', expires_at } } },
  }
}

function verify(kind: 'nin' | 'bvn', body: Record<string, unknown>, fault: Fault | undefined): VendorReply {
  const { [kind]: number, phone, amount } = body
  if (typeof number !== 'string' || typeof phone !== 'string' || (kind === 'bvn' && amount !== '50'))
    return { status: 422, body: { message: `The given data was invalid. ${CANARY}`, errors: {} } }
  if (isUnknown(number) || toPhoneCore(phone) !== toPhoneCoreOf(number))
    return failure(422, `The number ${number} could not be verified`)
  const data = kind === 'nin' ? toNinData(number, fault) : toBvnData(number, fault)
  const verdict = {
    request_reference: `sim-${number.slice(0, 3)}`,
    verification_status: 'VERIFIED',
    service_type: kind.toUpperCase(),
  }
  return {
    status: 200,
    body: {
      success: fault !== 'contradictory',
      message: 'Verification completed',
      data: { ...verdict, ...data },
    },
  }
}

function toNinData(number: string, fault: Fault | undefined) {
  const record = toNinPerson(number)
  const { first_name, phone_number } = record.personal_info
  if (fault === 'missing_fields')
    return { nin_number: number, personal_info: { first_name, last_name: null, phone_number } }
  return {
    ...record,
    nin_number: fault === 'wrong_person' ? toOtherNumber(number) : number,
    next_of_kin: {
      firstname: '********',
      surname: '********',
      address: '********',
      lga: '*',
      town: '',
      state: '*',
    },
    personal_info: { ...record.personal_info, image_url: 'data:image/jpeg;base64,/9j/4AAQSkZJRg==' },
  }
}

function toBvnData(number: string, fault: Fault | undefined) {
  const record = toBvnPerson(number)
  const { first_name, phone_number } = record.personal_info
  if (fault === 'missing_fields')
    return { bvn_number: number, personal_info: { first_name, last_name: null, phone_number } }
  return {
    ...record,
    bvn_number: fault === 'wrong_person' ? toOtherNumber(number) : number,
    watchlisted: fault === 'watchlisted' ? 'YES' : null,
    personal_info: { ...record.personal_info, image_base64: '/9j/4AAQSkZJRg==' },
  }
}
