import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import type { Static } from '../../contract/schema.ts'
import { isVirtualNin } from '../../contract/virtual-nin.ts'
import { completeBvn, completeNin, firstGiven, isAbsent, toNumber } from '../record.ts'
import type { BvnData, NinData } from './wire.ts'

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
