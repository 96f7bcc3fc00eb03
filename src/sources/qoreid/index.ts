import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import type { PersonDetails } from '../../contract/person.ts'
import { isVirtualNin } from '../../contract/person.ts'
import type { Static } from '../../contract/schema.ts'
import { readDay, toIsoDay } from '../../contract/time.ts'
import { completeBvn, completeNin, firstGiven, toFields, toNumber, toText } from '../record.ts'
import {
  anyValue,
  createPhraseMatcher,
  createReader,
  NO_SUCH_PERSON,
  objectWith,
  optionalFields,
  statusError,
  toErrorText,
} from '../reply.ts'
import { type Call, type CreateSource, SourceError } from '../source.ts'
import { readLifetimeMs, readTokenText, requireTokenReply, withToken } from '../token.ts'
import type { settings } from './settings.ts'

const name = 'qoreid'
/** QoreID issues a token for the credentials and takes the number in the path. It does not compare phones, so we do. */
export const create: CreateSource<typeof settings> = (
  { clientId, secret, ninPath, vninPath, bvnPath, namesOptional, notFound },
  { send, now },
) => {
  const saysNoSuchPerson = createPhraseMatcher(NO_SUCH_PERSON, notFound)
  const readToken = createReader(name, TokenReply)
  const readVerdict = createReader(name, Verdict)
  const readNin = createReader(name, NinReply)
  const readVirtualNin = createReader(name, VirtualNinReply)
  const readBvn = createReader(name, BvnReply)
  const sendWithToken = withToken(send, {
    source: name,
    now,
    fetchToken: async (call) => {
      const reply = await send({ method: 'POST', path: '/token', body: { clientId, secret } }, call)
      const { accessToken, expiresIn } = readToken(requireTokenReply(name, reply))
      return { text: readTokenText(name, accessToken), lifetimeMs: readLifetimeMs(expiresIn) }
    },
  })
  /** The body and reference of a reply with a record; otherwise the answer. */
  const lookUp = async (path: string, number: string, details: PersonDetails | undefined, call: Call) => {
    const sent = toSentDetails(details)
    const request = { method: 'POST', path: path.replace('{number}', number), body: sent ?? {} } as const
    const reply = await sendWithToken(request, call)
    const { status, body } = reply
    if (status === 404 && saysNoSuchPerson(toErrorText(body))) return NOT_FOUND
    if (status !== 200 && status !== 201) throw statusError(name, status, body)
    const verdict = readVerdict(body)
    const says = toMeaning(verdict, sent !== undefined)
    if (says === 'not_found') return NOT_FOUND
    // By its documents, a mismatch has no record. If there is one, it is compared here.
    if (says === 'names_differ' && !hasRecord(body))
      return { answer: { found: false, namesDiffer: true } } as const
    return { body, reference: verdict.id }
  }

  return {
    name,
    isExternal: true,
    acceptsVirtualNin: true,
    needsNames: namesOptional === 'on' ? undefined : { nin: BOTH_NAMES, bvn: toNamesOfBvn(bvnPath) },
    samples: {
      nin: '63184876213',
      bvn: '95888168924',
      details: { first_name: 'Bunch', last_name: 'Dillon' },
    },
    findNin: async ({ nin, details }, call) => {
      const isVirtual = isVirtualNin(nin)
      const found = await lookUp(isVirtual ? vninPath : ninPath, nin, details, call)
      if ('answer' in found) return found.answer
      const { body, reference } = found
      const record = isVirtual ? toVirtualNinRecord(readVirtualNin(body)) : toNinRecord(readNin(body))
      return { found: true, record, reference }
    },
    findBvn: async ({ bvn, details }, call) => {
      const found = await lookUp(bvnPath, bvn, details, call)
      if ('answer' in found) return found.answer
      return { found: true, record: toBvnRecord(readBvn(found.body)), reference: found.reference }
    },
  }
}

const NOT_FOUND = { answer: { found: false } } as const
const BOTH_NAMES = ['first_name', 'last_name'] as const

/** The documents of this product require the first name only. */
const toNamesOfBvn = (path: string) =>
  path.includes('/bvn-premium/') ? (['first_name'] as const) : BOTH_NAMES

/** QoreID compares names itself. Its verdict is not used if there is a record, which is compared here. Undefined without names. */
function toSentDetails({ first_name, last_name, date_of_birth }: PersonDetails = {}) {
  if (first_name === undefined) return undefined
  const born = date_of_birth === undefined ? undefined : readDay(date_of_birth)
  return {
    firstname: first_name,
    ...(last_name !== undefined && { lastname: last_name }),
    ...(born && { dob: toIsoDay(born) }),
  }
}

/** Only "complete verified" has a record. An undocumented status is a bad response. */
function toMeaning(
  { status }: Static<typeof Verdict>,
  hasNames: boolean,
): 'verified' | 'not_found' | 'names_differ' {
  const verdict = `${toText(status.state)} ${toText(status.status)}`.toLowerCase()
  if (verdict === 'complete verified') return 'verified'
  if (/^complete not[ _]found$/.test(verdict)) return 'not_found'
  if (/^complete id[ _]mismatch$/.test(verdict) && hasNames) return 'names_differ'
  // Without names, the account has a product that requires them.
  const isAboutNames = /^complete (id[ _]mismatch|not[ _]verified|unverified)$/.test(verdict)
  const problem = isAboutNames && !hasNames ? 'rejected' : 'unknown_shape'
  throw new SourceError(name, 'bad_response', { problem })
}

const hasRecord = (body: unknown): boolean => {
  const { nin, v_nin, bvn } = toFields(body)
  return [nin, v_nin, bvn].some((part) => typeof part === 'object' && part !== null)
}

export function toNinRecord({ nin }: Static<typeof NinReply>): NinRecord {
  const kin = toFields(nin.next_of_kin)
  const residence = toFields(nin.residence)
  return completeNin({
    nin_number: toNumber(nin.nin),
    personal_info: {
      title: nin.title,
      first_name: nin.firstname,
      middle_name: nin.middlename,
      last_name: nin.lastname,
      gender: nin.gender,
      phone_number: nin.phone,
      date_of_birth: nin.birthdate,
      height: nin.height,
      marital_status: nin.marital_status,
      religion: nin.religion,
    },
    next_of_kin: {
      firstname: kin.firstname,
      surname: kin.lastname,
      address: kin.address1,
      lga: kin.lga,
      town: kin.town,
      state: kin.state,
    },
    residential_info: {
      address: firstGiven(residence.address1, nin.address),
      lga_of_residence: residence.lga,
      state_of_residence: residence.state,
    },
    indigene_info: {
      lga_of_origin: nin.lga_of_origin,
      place_of_origin: nin.place_of_origin,
      state_of_origin: nin.state_of_origin,
      state_of_birth: nin.birth_state,
      country_of_birth: nin.birth_country,
    },
    education_profession: { profession: nin.profession },
  })
}

/** The answer to a virtual NIN does not have the NIN. */
const toVirtualNinRecord = ({ v_nin: person }: Static<typeof VirtualNinReply>): NinRecord =>
  completeNin({
    nin_number: toNumber(person.vNin).toUpperCase(),
    personal_info: {
      first_name: person.firstname,
      middle_name: person.middlename,
      last_name: person.lastname,
      gender: person.gender,
      phone_number: person.phone,
      date_of_birth: person.birthdate,
    },
  })

export const toBvnRecord = ({ bvn }: Static<typeof BvnReply>): BvnRecord =>
  completeBvn({
    bvn_number: toNumber(bvn.bvn),
    name_on_card: bvn.name_on_card,
    enrolment_branch: bvn.enrollment_branch,
    enrolment_bank: bvn.enrollment_bank,
    level_of_account: bvn.level_of_account,
    personal_info: {
      first_name: bvn.firstname,
      middle_name: bvn.middlename,
      last_name: bvn.lastname,
      email: bvn.email,
      gender: bvn.gender,
      phone_number: bvn.phone,
      date_of_birth: bvn.birthdate,
      lga_of_origin: bvn.lga_of_origin,
      state_of_origin: bvn.state_of_origin,
      nationality: bvn.nationality,
      marital_status: bvn.marital_status,
    },
    residential_info: {
      state_of_residence: bvn.state_of_residence,
      residential_address: bvn.residential_address,
    },
  })

/** {"accessToken": "…", "expiresIn": 7200 or "7200 secs", "tokenType": "Bearer"} */
const TokenReply = optionalFields('accessToken', 'expiresIn')

/** The common part of every reply with 200. It has a record only when the status is verified. */
const Verdict = objectWith({ id: anyValue, status: optionalFields('state', 'status') })

const NinReply = objectWith({
  nin: optionalFields(
    'nin',
    'title',
    'firstname',
    'middlename',
    'lastname',
    'phone',
    'gender',
    'birthdate',
    'height',
    'marital_status',
    'religion',
    'profession',
    'next_of_kin',
    'residence',
    'address',
    'lga_of_origin',
    'place_of_origin',
    'state_of_origin',
    'birth_state',
    'birth_country',
  ),
})

/** A virtual NIN has few fields. */
const VirtualNinReply = objectWith({
  v_nin: optionalFields('vNin', 'firstname', 'middlename', 'lastname', 'phone', 'gender', 'birthdate'),
})

const BvnReply = objectWith({
  bvn: optionalFields(
    'bvn',
    'firstname',
    'middlename',
    'lastname',
    'email',
    'gender',
    'phone',
    'birthdate',
    'lga_of_origin',
    'state_of_origin',
    'nationality',
    'marital_status',
    'state_of_residence',
    'residential_address',
    'name_on_card',
    'enrollment_branch',
    'enrollment_bank',
    'level_of_account',
  ),
})
