import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import type { Static } from '../../contract/schema.ts'
import { completeBvn, completeNin, firstGiven, toNumber } from '../record.ts'
import type { BvnReply, NinReply } from './wire.ts'

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
