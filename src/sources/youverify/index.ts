import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import { isVirtualNin } from '../../contract/person.ts'
import { type Static, Type } from '../../contract/schema.ts'
import { completeBvn, completeNin, firstGiven, toNumber, toText } from '../record.ts'
import {
  createPhraseMatcher,
  createReader,
  isTemporary,
  NO_SUCH_PERSON,
  objectWith,
  optionalFields,
  refuseContradiction,
  statusError,
  toErrorText,
} from '../reply.ts'
import { type Call, type CreateSource, SourceError } from '../source.ts'
import type { settings } from './settings.ts'

/** Youverify does not compare phones, so we do. It requires a statement of consent; the operator is responsible for it. */
export const create: CreateSource<typeof settings> = (
  { token, ninPath, vninPath, bvnPath, premium, notFound },
  { send },
) => {
  const name = 'youverify'
  const headers = { token }
  const isPremium = premium === 'on'
  const readNin = createReader(name, NinReply)
  const readBvn = createReader(name, BvnReply)
  const saysNoSuchPerson = createPhraseMatcher(NO_SUCH_PERSON, notFound)

  /** The reply; undefined when its error text says that there is no such person. */
  const lookUp = async (path: string, input: Record<string, unknown>, call: Call): Promise<unknown> => {
    const { status, body } = await send({ method: 'POST', path, headers, body: input }, call)
    const isError = status === 404 || status === 400 || (status === 200 && isErrorWithoutData(body))
    if (isError && saysNoSuchPerson(toErrorText(body))) return undefined
    if (status !== 200) throw statusError(name, status, body)
    // An error may come with 200.
    const code = toCode(body)
    if (code !== 200) throw statusError(name, code, body)
    refuseContradiction(name, saysFailed(body))
    return body
  }

  /** An unknown status is a bad response. The reason of "not_found" may be a temporary failure. */
  const isFound = ({ status, reason, firstName, lastName }: Static<typeof BvnReply>['data']): boolean => {
    if (status === 'found') return true
    refuseContradiction(name, toText([firstName, lastName]) !== '')
    if (status === 'not_found' && isTemporary(toText(reason)))
      throw new SourceError(name, 'unreachable', { problem: 'vendor_down' })
    if (status === 'not_found') return false
    throw new SourceError(name, 'bad_response', { problem: 'unknown_shape' })
  }

  return {
    name,
    isExternal: true,
    acceptsVirtualNin: true,
    samples: { nin: '11111111111', bvn: '11111111111' },
    findNin: async ({ nin }, call) => {
      const isVirtual = isVirtualNin(nin)
      const input = { id: nin, isSubjectConsent: true, ...(isPremium && !isVirtual && { premiumNin: true }) }
      const body = await lookUp(isVirtual ? vninPath : ninPath, input, call)
      if (body === undefined) return { found: false }
      const reply = readNin(body)
      const { id: reference } = reply.data
      return isFound(reply.data)
        ? { found: true, record: toNinRecord(reply), reference, virtualNin: reply.data.vNIN }
        : { found: false, reference }
    },
    findBvn: async ({ bvn }, call) => {
      const input = { id: bvn, isSubjectConsent: true, ...(isPremium && { premiumBVN: true }) }
      const body = await lookUp(bvnPath, input, call)
      if (body === undefined) return { found: false }
      const reply = readBvn(body)
      const { id: reference } = reply.data
      return isFound(reply.data)
        ? { found: true, record: toBvnRecord(reply), reference }
        : { found: false, reference }
    },
  }
}

export const toNinRecord = ({ data }: Static<typeof NinReply>): NinRecord =>
  completeNin({
    // A virtual NIN is repeated in its place.
    nin_number: toNumber(firstGiven(data.idNumber, data.vNIN)).toUpperCase(),
    personal_info: {
      first_name: data.firstName,
      middle_name: data.middleName,
      last_name: data.lastName,
      gender: data.gender,
      phone_number: data.mobile,
      date_of_birth: data.dateOfBirth,
      religion: data.religion,
    },
    next_of_kin: { state: data.nokState },
    residential_info: {
      address: data.address?.addressLine,
      lga_of_residence: data.address?.lga,
      state_of_residence: data.address?.state,
    },
    indigene_info: {
      lga_of_birth: data.birthLGA,
      state_of_birth: data.birthState,
      country_of_birth: data.birthCountry,
    },
  })

export const toBvnRecord = ({ data }: Static<typeof BvnReply>): BvnRecord =>
  completeBvn({
    bvn_number: toNumber(data.idNumber),
    name_on_card: data.nameOnCard,
    enrolment_branch: data.enrollmentBranch,
    enrolment_bank: data.enrollmentInstitution,
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
      phone_number: data.mobile,
      phone_number_2: data.otherMobile,
      date_of_birth: data.dateOfBirth,
      lga_of_origin: data.lgaOfOrigin,
      state_of_origin: data.stateOfOrigin,
      marital_status: data.maritalStatus,
    },
    residential_info: {
      state_of_residence: data.address?.state,
      lga_of_residence: data.address?.lga,
      residential_address: data.address?.addressLine,
    },
  })

/** The vendor's own status. NaN when there is none: the reply is not from Youverify. */
export const toCode = (body: unknown): number =>
  Number(toText((body as { readonly statusCode?: unknown } | null | undefined)?.statusCode) || Number.NaN)

/** By the documentation, every reply has `success`: true with a result, false with an error. */
const saysFailed = (body: unknown): boolean => {
  const success = (body as { readonly success?: unknown } | null | undefined)?.success
  return success !== undefined && success !== true
}

/** {"success": false, "message": "Record not found"} with 200. */
const isErrorWithoutData = (body: unknown): boolean => {
  const data = (body as { readonly data?: unknown } | null | undefined)?.data
  return saysFailed(body) && (data === undefined || data === null)
}

type Address = { readonly [Name in 'addressLine' | 'lga' | 'state']?: unknown }

/** Often null. A value of another type has none of these keys, and is read as empty. */
const address = Type.Optional(Type.Unsafe<Address | null>({}))

/** The fields of both products. `idNumber` is the requested number; `id` is the vendor's reference. */
const person = optionalFields(
  'id',
  'status',
  'reason',
  'idNumber',
  'firstName',
  'middleName',
  'lastName',
  'gender',
  'mobile',
  'dateOfBirth',
)

/** {"success": true, "statusCode": 200, "message": "success", "data": {"status": "found", …}} */
export const NinReply = objectWith({
  data: objectWith({
    ...person.properties,
    ...optionalFields('vNIN', 'religion', 'nokState', 'birthLGA', 'birthState', 'birthCountry').properties,
    address,
  }),
})

export const BvnReply = objectWith({
  data: objectWith({
    ...person.properties,
    ...optionalFields('email', 'nin', 'enrollmentBranch', 'enrollmentInstitution', 'nameOnCard').properties,
    ...optionalFields('registrationDate', 'levelOfAccount', 'watchListed', 'otherMobile').properties,
    ...optionalFields('lgaOfOrigin', 'stateOfOrigin', 'maritalStatus').properties,
    address,
  }),
})
