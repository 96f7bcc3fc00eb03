import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import type { Static } from '../../contract/schema.ts'
import { completeBvn, completeNin, firstGiven, toFields, toNumber } from '../record.ts'
import type { BvnReply, NinReply, VirtualNinReply } from './wire.ts'

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
export const toVirtualNinRecord = ({ v_nin: person }: Static<typeof VirtualNinReply>): NinRecord =>
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
