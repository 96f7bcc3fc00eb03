import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import { isVirtualNin } from '../../contract/person.ts'
import { type Static, Type } from '../../contract/schema.ts'
import { completeBvn, completeNin, firstGiven, isAbsent, toFields, toNumber, toText } from '../record.ts'
import {
  anyValue,
  createPhraseMatcher,
  createReader,
  objectWith,
  optionalFields,
  statusError,
  toErrorText,
} from '../reply.ts'
import { type Call, type CreateSource, SourceError } from '../source.ts'
import type { settings } from './settings.ts'

/** The vendor's codes that are answers. `watchlisted` is about BVNs only: "Blocked/Watch listed". */
const CODES = { found: '00', notFound: '01', notNow: '02', noFunds: '03', watchlisted: '07' } as const

/** With these statuses, the code in the body decides. With others, the HTTP status does. */
const CODED_STATUSES: readonly number[] = [200, 400, 404]

/** Prembly does not compare phones, so we do. */
export const create: CreateSource<typeof settings> = (
  { apiKey, appId, ninPath, ninField, vninPath, bvnPath, notFound },
  { send },
) => {
  const name = 'prembly'
  const headers = { 'x-api-key': apiKey, ...(appId === undefined ? {} : { 'app-id': appId }) }
  // Prembly has a code for it: only the texts of the operator count besides.
  const saysNoSuchPerson = createPhraseMatcher(notFound)
  const readNin = createReader(name, NinReply)
  const readNinData = createReader(name, NinData)
  const readBvn = createReader(name, BvnReply)
  const readBvnData = createReader(name, BvnData)

  /** The reply and its code: found, not found or watch-listed. Every other code is an error. */
  const lookUp = async (path: string, input: Record<string, string>, call: Call) => {
    const { status, body } = await send({ method: 'POST', path, headers, body: input }, call)
    const code = CODED_STATUSES.includes(status) ? toCode(body) : ''
    if (code === CODES.notFound || code === CODES.watchlisted) return { body, code }
    if (code === CODES.notNow) throw new SourceError(name, 'unreachable', { problem: 'vendor_down' })
    if (code === CODES.noFunds) throw new SourceError(name, 'refused', { problem: 'funds' })
    if (code !== CODES.found && CODED_STATUSES.includes(status) && saysNoSuchPerson(toErrorText(body)))
      return { body, code: CODES.notFound }
    if (status !== 200 || code !== CODES.found) throw statusError(name, status, body)
    return { body, code }
  }

  return {
    name,
    isExternal: true,
    acceptsVirtualNin: true,
    samples: { bvn: '54651333604' },
    findNin: async ({ nin }, call) => {
      const { body, code } = isVirtualNin(nin)
        ? await lookUp(vninPath, { number_nin: nin }, call)
        : await lookUp(ninPath, { [ninField]: nin }, call)
      if (code === CODES.notFound) return { found: false }
      if (code === CODES.watchlisted)
        throw new SourceError(name, 'bad_response', { problem: 'unknown_shape' })
      const { verification, nin_data, data } = readNin(body)
      const person = readNinData(nin_data ?? data)
      const record = toNinRecord(person, nin)
      const virtualNin = firstGiven(person.vnin, person.vNIN)
      const reference = verification?.reference
      return { found: true, record, reference, virtualNin, mayOmitVirtualNin: true }
    },
    findBvn: async ({ bvn }, call) => {
      const { body, code } = await lookUp(bvnPath, { number: bvn }, call)
      if (code === CODES.notFound) return { found: false }
      if (code === CODES.watchlisted) return { found: false, watchlisted: true }
      const { verification, bvn_data, data, request_data } = readBvn(body)
      const record = toBvnRecord(readBvnData(bvn_data ?? data), toFields(request_data).number)
      return { found: true, record, reference: verification?.reference }
    },
  }
}

/** The basic product returns no NIN, or null. A NIN that is returned is compared with the requested one. */
export const toNinRecord = (data: Static<typeof NinData>, requested: string): NinRecord =>
  completeNin({
    nin_number:
      isAbsent(data.nin) || (isVirtualNin(requested) && toNumber(data.nin) === '')
        ? requested
        : toNumber(data.nin),
    document_no: data.documentno,
    personal_info: {
      title: data.title,
      first_name: firstGiven(data.firstname, data.firsname, data.firstName),
      middle_name: firstGiven(data.middlename, data.middleName),
      last_name: data.surname,
      maiden_name: data.maidenname,
      gender: data.gender,
      phone_number: [data.telephoneno, data.trustedNumber].flat(),
      date_of_birth: firstGiven(data.birthdate, data.dateOfBirth),
      height: firstGiven(data.heigth, data.height),
      marital_status: data.maritalstatus,
      religion: data.religion,
    },
    next_of_kin: {
      firstname: data.nok_firstname,
      surname: data.nok_surname,
      address: [data.nok_address1, data.nok_address2].flat(),
      lga: data.nok_lga,
      town: data.nok_town,
      state: data.nok_state,
    },
    residential_info: {
      address: firstGiven(data.residence_AdressLine1, data.residence_address),
      lga_of_residence: data.residence_lga,
      state_of_residence: data.residence_state,
      residence_status: data.residencestatus,
    },
    indigene_info: {
      lga_of_origin: data.self_origin_lga,
      place_of_origin: data.self_origin_place,
      state_of_origin: data.self_origin_state,
      lga_of_birth: data.birthlga,
      state_of_birth: data.birthstate,
      country_of_birth: data.birthcountry,
    },
    education_profession: {
      educational_level: data.educationallevel,
      profession: data.profession,
    },
  })

/** The basic product has the number in a part beside the record, where it repeats the request. */
export const toBvnRecord = (data: Static<typeof BvnData>, repeated?: unknown): BvnRecord =>
  completeBvn({
    bvn_number: toNumber(isAbsent(data.bvn) ? repeated : data.bvn),
    name_on_card: data.nameOnCard,
    enrolment_branch: data.enrollmentBranch,
    enrolment_bank: data.enrollmentBank,
    formatted_registration_date: data.registrationDate,
    level_of_account: data.levelOfAccount,
    nin: toNumber(data.nin),
    watchlisted: data.watchListed,
    personal_info: {
      first_name: data.firstName,
      middle_name: data.middleName,
      last_name: data.lastName,
      email: data.email,
      gender: data.gender,
      phone_number: [data.phoneNumber1, data.phoneNumber].flat(),
      phone_number_2: data.phoneNumber2,
      date_of_birth: data.dateOfBirth,
      lga_of_origin: data.lgaOfOrigin,
      state_of_origin: data.stateOfOrigin,
      nationality: data.nationality,
      marital_status: data.maritalStatus,
    },
    residential_info: {
      state_of_residence: data.stateOfResidence,
      lga_of_residence: data.lgaOfResidence,
      residential_address: data.residentialAddress,
    },
  })

/** "00" found, "01" not found, "02" temporarily unavailable, "03" no funds. Empty when the reply is not from Prembly. */
export const toCode = (body: unknown): string => {
  const code = toText((body as { readonly response_code?: unknown } | null | undefined)?.response_code)
  return /^\d$/.test(code) ? `0${code}` : code
}

/** Optional: the newest samples omit it. PENDING and NOT-VERIFIED also exist and must be rejected. */
const verification = Type.Optional(
  Type.Nullable(objectWith({ status: Type.Literal('VERIFIED'), reference: anyValue })),
)

/** Each version of the API has the record under another name. The `session` of some versions is never read. */
export const NinReply = objectWith({ verification, data: anyValue, nin_data: anyValue })
const BvnReply = objectWith({
  verification,
  data: anyValue,
  bvn_data: anyValue,
  request_data: anyValue,
})

/** NIMC's field names, typing errors included. Two names for one field come from two versions of the API. */
export const NinData = optionalFields(
  'nin',
  'vnin',
  // NIMC's names in the answer to a virtual NIN.
  'vNIN',
  'firstName',
  'middleName',
  'dateOfBirth',
  'trustedNumber',
  'documentno',
  'title',
  'firstname',
  'firsname',
  'middlename',
  'surname',
  'maidenname',
  'gender',
  'telephoneno',
  'birthdate',
  'heigth',
  'height',
  'maritalstatus',
  'religion',
  'nok_firstname',
  'nok_surname',
  'nok_address1',
  'nok_address2',
  'nok_lga',
  'nok_town',
  'nok_state',
  'residence_AdressLine1',
  'residence_address',
  'residence_lga',
  'residence_state',
  'residencestatus',
  'self_origin_lga',
  'self_origin_place',
  'self_origin_state',
  'birthlga',
  'birthstate',
  'birthcountry',
  'educationallevel',
  'profession',
)

export const BvnData = optionalFields(
  'bvn',
  'firstName',
  'middleName',
  'lastName',
  'email',
  'gender',
  'phoneNumber1',
  'phoneNumber',
  'phoneNumber2',
  'dateOfBirth',
  'lgaOfOrigin',
  'stateOfOrigin',
  'nationality',
  'maritalStatus',
  'stateOfResidence',
  'lgaOfResidence',
  'residentialAddress',
  'nameOnCard',
  'enrollmentBranch',
  'enrollmentBank',
  'registrationDate',
  'levelOfAccount',
  'nin',
  'watchListed',
)
