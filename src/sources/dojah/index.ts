import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import { isVirtualNin } from '../../contract/person.ts'
import type { Static } from '../../contract/schema.ts'
import { completeBvn, completeNin, firstGiven, isAbsent, toNumber } from '../record.ts'
import {
  createPhraseMatcher,
  createReader,
  NO_SUCH_PERSON,
  objectWith,
  optionalFields,
  statusError,
  toErrorText,
} from '../reply.ts'
import type { CreateSource, HttpReply } from '../source.ts'
import type { settings } from './settings.ts'

/** Dojah does not compare phones, so we do. Its API takes the number in the query string. */
export const create: CreateSource<typeof settings> = (
  { appId, secret, ninPath, vninPath, bvnPath, notFound },
  { send },
) => {
  const name = 'dojah'
  const headers = { AppId: appId, Authorization: secret }
  const readNin = createReader(name, NinReply)
  const readBvn = createReader(name, BvnReply)
  const saysNoSuchPerson = createPhraseMatcher(NOT_FOUND, notFound)
  const isNotFound = ({ status, body }: HttpReply) =>
    (status === 404 || status === 400) && saysNoSuchPerson(toErrorText(body))

  return {
    name,
    isExternal: true,
    acceptsVirtualNin: true,
    samples: { nin: '70123456789', bvn: '22222222222' },
    findNin: async ({ nin }, call) => {
      const target = isVirtualNin(nin)
        ? { path: vninPath, query: { vnin: nin } }
        : { path: ninPath, query: { nin } }
      const answer = await send({ method: 'GET', ...target, headers }, call)
      const { status, body } = answer
      if (isNotFound(answer)) return { found: false }
      if (status !== 200) throw statusError(name, status, body)
      const reply = readNin(body)
      const { reference, vnin: virtualNin } = reply.entity
      const record = toNinRecord(reply, nin)
      return { found: true, record, reference, virtualNin, mayOmitVirtualNin: true }
    },
    findBvn: async ({ bvn }, call) => {
      const answer = await send({ method: 'GET', path: bvnPath, query: { bvn }, headers }, call)
      const { status, body } = answer
      if (isNotFound(answer)) return { found: false }
      if (status !== 200) throw statusError(name, status, body)
      const reply = readBvn(body)
      return { found: true, record: toBvnRecord(reply), reference: reply.entity.reference }
    },
  }
}

/** Sent with a 404, or with a 400: {"error": "Wrong NIN Inputted"}, or with the text in `message`. */
const NOT_FOUND = [...NO_SUCH_PERSON, 'wrong nin inputted', 'wrong vnin inputted', 'wrong bvn inputted']

/** Dojah does not always return the NIN. If it does, `requirePerson` compares it with the requested one. A virtual NIN has other names. */
export const toNinRecord = ({ entity }: Static<typeof NinReply>, requested: string): NinRecord =>
  completeNin({
    nin_number: isAbsent(entity.nin) ? requested : toNumber(entity.nin),
    personal_info: {
      title: entity.title,
      first_name: firstGiven(entity.first_name, entity.firstname),
      middle_name: firstGiven(entity.middle_name, entity.middlename),
      last_name: firstGiven(entity.surname, entity.last_name),
      maiden_name: entity.maiden_name,
      gender: entity.gender,
      phone_number: [entity.telephone, entity.phone_number, entity.mobile].flat(),
      date_of_birth: firstGiven(entity.birth_date, entity.date_of_birth, entity.dateOfBirth),
      height: entity.height,
      marital_status: entity.marital_status,
      religion: entity.religion,
    },
    next_of_kin: {
      firstname: entity.nok_first_name,
      surname: entity.nok_surname,
      // The second may be a list of its own.
      address: [entity.nok_address_1, entity.nok_address_2].flat(),
      lga: entity.nok_lga,
      town: entity.nok_town,
      state: entity.nok_state,
    },
    residential_info: {
      address: firstGiven(
        entity.residence_address,
        [entity.residence_address_line_1, entity.residence_address_line_2].flat(),
      ),
      lga_of_residence: entity.residence_lga,
      state_of_residence: entity.residence_state,
      residence_status: entity.residence_status,
    },
    indigene_info: {
      lga_of_origin: entity.origin_lga,
      place_of_origin: entity.origin_place,
      state_of_origin: entity.origin_state,
      lga_of_birth: entity.birth_lga,
      state_of_birth: entity.birth_state,
      country_of_birth: entity.birth_country,
    },
    education_profession: {
      educational_level: entity.educational_level,
      profession: entity.profession,
    },
  })

export const toBvnRecord = ({ entity }: Static<typeof BvnReply>): BvnRecord =>
  completeBvn({
    bvn_number: toNumber(entity.bvn),
    name_on_card: entity.name_on_card,
    enrolment_branch: entity.enrollment_branch,
    enrolment_bank: entity.enrollment_bank,
    formatted_registration_date: entity.registration_date,
    level_of_account: entity.level_of_account,
    nin: toNumber(entity.nin),
    watchlisted: entity.watch_listed,
    personal_info: {
      first_name: entity.first_name,
      middle_name: entity.middle_name,
      last_name: entity.last_name,
      email: entity.email,
      gender: entity.gender,
      phone_number: entity.phone_number1,
      phone_number_2: entity.phone_number2,
      date_of_birth: entity.date_of_birth,
      lga_of_origin: entity.lga_of_origin,
      state_of_origin: entity.state_of_origin,
      nationality: entity.nationality,
      marital_status: entity.marital_status,
    },
    residential_info: {
      state_of_residence: entity.state_of_residence,
      lga_of_residence: entity.lga_of_residence,
      residential_address: entity.residential_address,
    },
  })

/** {"entity": {…}} with 200; {"error": "text"} with any other status. */
export const NinReply = objectWith({
  entity: optionalFields(
    'nin',
    'title',
    'first_name',
    'middle_name',
    'surname',
    // Of a virtual NIN.
    'vnin',
    'firstname',
    'middlename',
    'mobile',
    'dateOfBirth',
    'last_name',
    'maiden_name',
    'gender',
    'telephone',
    'phone_number',
    'birth_date',
    'date_of_birth',
    'height',
    'marital_status',
    'religion',
    'nok_first_name',
    'nok_surname',
    'nok_address_1',
    'nok_address_2',
    'nok_lga',
    'nok_town',
    'nok_state',
    'residence_address',
    'residence_address_line_1',
    'residence_address_line_2',
    'residence_lga',
    'residence_state',
    'residence_status',
    'origin_lga',
    'origin_place',
    'origin_state',
    'birth_lga',
    'birth_state',
    'birth_country',
    'educational_level',
    'profession',
    'reference',
  ),
})

export const BvnReply = objectWith({
  entity: optionalFields(
    'bvn',
    'first_name',
    'middle_name',
    'last_name',
    'email',
    'gender',
    'phone_number1',
    'phone_number2',
    'date_of_birth',
    'lga_of_origin',
    'state_of_origin',
    'nationality',
    'marital_status',
    'state_of_residence',
    'lga_of_residence',
    'residential_address',
    'name_on_card',
    'enrollment_branch',
    'enrollment_bank',
    'registration_date',
    'level_of_account',
    'nin',
    'watch_listed',
    'reference',
  ),
})
