import type { BvnRecord } from '../../contract/bvn.ts'
import { ACCOUNT_LEVELS, BANKS } from './occupations.ts'
import {
  addDays,
  addYears,
  type Person,
  pickDate,
  pickPhone,
  toDate,
  toFullName,
  toHyphenatedDate,
  toLongDate,
  toPerson,
  toPhoneOnRecord,
} from './person.ts'
import { Seed } from './seed.ts'

/** What the sandbox knows about a BVN. Only the phone comes from the request; `person` is for scenarios. */
export function toBvnRecord(
  bvn: string,
  phoneCore: string,
  person: Person = toPerson(toLinkedNin(bvn)),
): BvnRecord {
  const seed = new Seed('bvn', bvn, 'bank')
  const bank = seed.pick(BANKS)
  return {
    bvn_number: bvn,
    name_on_card: `${person.firstName} ${person.lastName}`.toUpperCase(),
    enrolment_branch: seed.pick<string>(bank.branches),
    enrolment_bank: bank.code,
    formatted_registration_date: toLongDate(pickRegistrationDate(bvn, person)),
    level_of_account: seed.pick(ACCOUNT_LEVELS),
    nin: seed.chance(85) ? toLinkedNin(bvn) : '',
    watchlisted: null,
    personal_info: toPersonalInfo(bvn, phoneCore, person),
    residential_info: {
      state_of_residence: person.home.state,
      lga_of_residence: person.home.lga,
      residential_address: person.address,
    },
  }
}

/**
 * The person behind a BVN is the person behind this NIN, so that a client who looks up both finds the same name
 * twice. It starts with 1 to 9: a number that starts with zeros could be a scenario.
 */
function toLinkedNin(bvn: string) {
  const seed = new Seed('bvn', bvn, 'nin')
  return `${seed.between(1, 9)}${seed.digits(5)}${seed.digits(5)}`
}

const FIRST_REGISTRATION = toDate(2014, 2, 14)
const LAST_REGISTRATION = toDate(2023, 12, 31)

/** BVNs exist since February 2014. Only adults get one here. */
function pickRegistrationDate(bvn: string, person: Person) {
  const adultSince = addDays(addYears(person.birthDate, 18), 1)
  const first = adultSince > FIRST_REGISTRATION ? adultSince : FIRST_REGISTRATION
  return pickDate(new Seed('bvn', bvn, 'registration'), first, LAST_REGISTRATION)
}

function toPersonalInfo(bvn: string, phoneCore: string, person: Person): BvnRecord['personal_info'] {
  const seed = new Seed('bvn', bvn, 'contact')
  return {
    first_name: person.firstName,
    middle_name: person.middleName,
    last_name: person.lastName,
    full_name: toFullName(person),
    email: seed.chance(80) ? toEmail(person) : '',
    gender: person.gender === 'm' ? 'Male' : 'Female',
    phone_number: toPhoneOnRecord('bvn', bvn, phoneCore),
    phone_number_2: seed.chance(25) ? pickPhone(seed) : null,
    date_of_birth: toHyphenatedDate(person.birthDate),
    formatted_date_of_birth: toLongDate(person.birthDate),
    lga_of_origin: person.origin.lga,
    state_of_origin: person.origin.state,
    nationality: 'Nigeria',
    marital_status: person.maritalStatus,
  }
}

/** example.com is reserved for examples: mail sent there by mistake reaches no person. */
const toEmail = (person: Person) => `${toLatin(person.firstName)}.${toLatin(person.lastName)}@example.com`

const toLatin = (name: string) =>
  name
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^a-z]/g, '')
