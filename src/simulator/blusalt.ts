import type { Fault } from './faults.ts'
import { CANARY } from './faults.ts'
import { isUnknown, toBvnPerson, toNinPerson, toOtherNumber, toPhoneCoreOf } from './people.ts'
import type { VendorReply, VendorScript } from './stand-in.ts'

const PICTURE = '/9j/4AAQSkZJRg=='

/** An error has its status in the body too. With HTTP status 200, the status in the body counts. */
const error = (code: number, message: string, status = code): VendorReply => ({
  status,
  body: { status_code: code, status: 'Error', message, results: null, detail: CANARY },
})

/** Blusalt as documented: the contract's own shape as "results", and it compares the phone itself. */
export const blusalt: VendorScript = {
  name: 'blusalt',
  settings: (url) => ({
    TABBAT_BLUSALT_URL: `${url}/v2`,
    TABBAT_BLUSALT_CLIENT_ID: 'simulated-client',
    TABBAT_BLUSALT_APP_NAME: 'simulated-app',
    TABBAT_BLUSALT_API_KEY: 'simulated-key',
  }),
  phoneFields: ['phone_number', 'phone_number_2'],
  refuse: error,
  answer: ({ method, path, headers, body }, fault) => {
    const { clientid, appname, apikey } = headers
    const isKnown = [clientid, appname, apikey].join() === 'simulated-client,simulated-app,simulated-key'
    if (!isKnown || fault === 'unauthorised') return error(401, 'Invalid credentials')
    if (fault === 'no_funds') return error(402, 'Insufficient wallet balance')
    if (fault === 'error_in_200') return error(500, 'Service provider not available', 200)
    // A wrong path is answered by the web framework, not in the vendor's envelope.
    const kind = /^\/v2\/IdentityVerification\/(NIN|BVN)$/.exec(path)?.[1]
    if (method !== 'POST' || kind === undefined) return { status: 404, body: { error: 'Not Found' } }
    const input = (body ?? {}) as Record<string, unknown>
    const number = input[kind === 'NIN' ? 'nin_number' : 'bvn_number']
    if (typeof number !== 'string' || !/^\d{11}$/.test(number)) return error(400, 'Invalid number')
    if (isUnknown(number)) return error(404, 'Record not found')
    if (input.phone_number !== `0${toPhoneCoreOf(number)}`) return error(422, 'Phone number does not match')
    const results = kind === 'NIN' ? toNinResults(number, fault) : toBvnResults(number, fault)
    const status = fault === 'contradictory' ? 'Failed' : 'Success'
    return { status: 200, body: { status_code: 200, status, message: 'Successful', results } }
  },
}

const toSparse = (info: { readonly first_name: string; readonly phone_number: string }) => ({
  first_name: info.first_name,
  last_name: null,
  phone_number: info.phone_number,
})

function toNinResults(number: string, fault: Fault | undefined) {
  const { personal_info: info, ...record } = toNinPerson(number)
  if (fault === 'missing_fields')
    return { nin_number: number, personal_info: toSparse(info), next_of_kin: null, residential_info: {} }
  return {
    ...record,
    request_reference: `BLU-NIN-${number.slice(0, 3)}-SIM`,
    nin_number: fault === 'wrong_person' ? toOtherNumber(number) : number,
    document_no: null,
    verification_status: 'VERIFIED',
    service_type: 'NIN',
    personal_info: {
      ...info,
      first_name: info.first_name.toUpperCase(),
      maiden_name: null,
      height: Number(info.height),
      image_url: PICTURE,
      signature: PICTURE,
    },
    next_of_kin: {
      firstname: '****',
      surname: '****',
      address: '******',
      lga: null,
      town: '',
      state: '****',
    },
  }
}

function toBvnResults(number: string, fault: Fault | undefined) {
  const { personal_info: info, ...record } = toBvnPerson(number)
  if (fault === 'missing_fields') return { bvn_number: number, personal_info: toSparse(info) }
  return {
    ...record,
    request_reference: `BLU-BVN-${number.slice(0, 3)}-SIM`,
    bvn_number: fault === 'wrong_person' ? Number(toOtherNumber(number)) : Number(number),
    enrolment_bank: Number(record.enrolment_bank),
    formatted_registration_date: null,
    watchlisted: fault === 'watchlisted' ? 'YES' : null,
    verification_status: 'VERIFIED',
    service_type: 'BVN',
    personal_info: { ...info, email: null, phone_number_2: null, image_url: PICTURE, image_base64: PICTURE },
  }
}
