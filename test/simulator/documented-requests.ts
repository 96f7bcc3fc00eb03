import { createHmac, randomUUID } from 'node:crypto'
import { toBvnPerson } from '../../src/simulator/people.ts'
import type { StandIn } from '../../src/simulator/stand-in.ts'

/** Requests to the simulated vendors, written from the documents of the vendors and not from our sources. */
export type Reply = { readonly status: number; readonly body: Record<string, unknown> }
/** `isKnown` is false for a request with wrong credentials. */
export type Ask = (vendor: StandIn, number: string, isKnown: boolean) => Promise<Reply>

async function post(url: string, headers: Record<string, string>, body: unknown): Promise<Reply> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
  const response = await fetch(url, { ...init, body: JSON.stringify(body) })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

export const settingOf = ({ settings }: StandIn, name: string) => settings[`TABBAT_${name}`] ?? ''

export const askKorapay =
  (kind: string): Ask =>
  (vendor, id, isKnown) => {
    const secret = isKnown ? settingOf(vendor, 'KORAPAY_SECRET') : 'wrong'
    const url = `${settingOf(vendor, 'KORAPAY_URL')}/identities/ng/${kind}`
    return post(url, { authorization: `Bearer ${secret}` }, { id, verification_consent: true })
  }

export const askMono: Ask = (vendor, nin, isKnown) => {
  const secret = isKnown ? settingOf(vendor, 'MONO_SECRET') : 'wrong'
  return post(`${settingOf(vendor, 'MONO_URL')}/v3/lookup/nin`, { 'mono-sec-key': secret }, { nin })
}

export const logIn = (vendor: StandIn, secret = settingOf(vendor, 'MONNIFY_SECRET')) => {
  const keys = Buffer.from(`${settingOf(vendor, 'MONNIFY_API_KEY')}:${secret}`).toString('base64')
  return post(`${settingOf(vendor, 'MONNIFY_URL')}/api/v1/auth/login`, { authorization: `Basic ${keys}` }, {})
}

export async function askMonnify(
  vendor: StandIn,
  product: string,
  input: object,
  isKnown: boolean,
): Promise<Reply> {
  const login = await logIn(vendor)
  const { accessToken } = (login.body.responseBody ?? {}) as Record<string, unknown>
  const authorization = `Bearer ${isKnown ? accessToken : 'expired'}`
  return post(`${settingOf(vendor, 'MONNIFY_URL')}/api/v1/vas/${product}`, { authorization }, input)
}

export const toMatchInput = (bvn: string) => {
  const { personal_info: info } = toBvnPerson(bvn)
  return { bvn, name: info.full_name, dateOfBirth: info.date_of_birth, mobileNo: info.phone_number }
}

export const toSmileInput = (vendor: StandIn, id_type: string, id_number: string, key: string) => {
  const [partner_id, timestamp] = [settingOf(vendor, 'SMILEID_PARTNER_ID'), new Date().toISOString()]
  return {
    partner_id,
    timestamp,
    signature: createHmac('sha256', key).update(`${timestamp}${partner_id}sid_request`).digest('base64'),
    country: 'NG',
    id_type,
    id_number,
    partner_params: { job_id: randomUUID(), user_id: 'user-1', job_type: 5 },
    source_sdk: 'rest_api',
    source_sdk_version: '1.0.0',
  }
}

export const postSmile = (vendor: StandIn, input: unknown) =>
  post(`${settingOf(vendor, 'SMILEID_URL')}/v1/id_verification`, {}, input)

export const askSmile =
  (type: string): Ask =>
  (vendor, number, isKnown) =>
    postSmile(
      vendor,
      toSmileInput(vendor, type, number, isKnown ? settingOf(vendor, 'SMILEID_API_KEY') : 'wrong'),
    )

export const askSeamfix =
  (verificationType: string): Ask =>
  (vendor, searchParameter, isKnown) => {
    const userid = settingOf(vendor, 'SEAMFIX_USER_ID')
    const apiKey = isKnown ? settingOf(vendor, 'SEAMFIX_API_KEY') : 'wrong'
    const input = { verificationType, countryCode: 'NG', searchParameter, transactionReference: 'ver_1' }
    return post(`${settingOf(vendor, 'SEAMFIX_URL')}/v3/id-service/`, { userid, apiKey }, input)
  }

export const askSourceid =
  (verificationLevel: string): Ask =>
  (vendor, bvn, isKnown) => {
    const key = isKnown ? settingOf(vendor, 'SOURCEID_API_KEY') : 'wrong'
    const input = { country: 'NGA', reference: 'ver_1', verificationLevel, bvn }
    return post(`${settingOf(vendor, 'SOURCEID_URL')}/v1/api/verification/bvn`, { 'x-api-key': key }, input)
  }

export const matchBvn: Ask = (vendor, bvn, isKnown) =>
  askMonnify(vendor, 'bvn-details-match', toMatchInput(bvn), isKnown)
export const findNin: Ask = (vendor, nin, isKnown) => askMonnify(vendor, 'nin-details', { nin }, isKnown)
