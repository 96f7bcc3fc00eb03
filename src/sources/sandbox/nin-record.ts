import type { NinRecord } from '../../contract/nin.ts'
import { pickFirstName } from './names.ts'
import { EDUCATION, RELIGIONS } from './occupations.ts'
import { type Person, toFullName, toNumericDate, toPerson, toPhoneOnRecord, toShortDate } from './person.ts'
import { pickAddress, pickPlace } from './place.ts'
import { toPortraitCode } from './portrait.ts'
import { Seed } from './seed.ts'

/** What the sandbox knows about a NIN. Only the phone comes from the request; `person` is for scenarios. */
export function toNinRecord(nin: string, phoneCore: string, person: Person = toPerson(nin)): NinRecord {
  return {
    nin_number: nin,
    document_no: toDocumentNumber(nin),
    personal_info: toPersonalInfo(nin, phoneCore, person),
    next_of_kin: toNextOfKin(nin, person),
    residential_info: {
      address: person.address,
      lga_of_residence: person.home.lga,
      state_of_residence: person.home.state,
      residence_status: person.residenceStatus,
    },
    indigene_info: {
      lga_of_origin: person.origin.lga,
      place_of_origin: person.origin.town,
      state_of_origin: person.origin.state,
      lga_of_birth: person.birthplace.lga,
      state_of_birth: person.birthplace.state,
      country_of_birth: 'Nigeria',
    },
    education_profession: toEducationProfession(nin),
  }
}

/** The address of a portrait on this server; it says nothing about the number. */
const toPortraitPath = (code: string) => `/media/sandbox/${code}.svg`

function toDocumentNumber(nin: string) {
  const seed = new Seed('nin', nin, 'document')
  return seed.chance(50) ? `S${seed.digits(8)}` : ''
}

function toPersonalInfo(nin: string, phoneCore: string, person: Person): NinRecord['personal_info'] {
  const seed = new Seed('nin', nin, 'body')
  const height = person.gender === 'm' ? seed.between(160, 192) : seed.between(150, 180)
  return {
    title: person.title,
    first_name: person.firstName,
    middle_name: person.middleName,
    last_name: person.lastName,
    full_name: toFullName(person),
    maiden_name: person.maidenName,
    gender: person.gender,
    phone_number: toPhoneOnRecord('nin', nin, phoneCore),
    date_of_birth: toNumericDate(person.birthDate),
    formatted_date_of_birth: toShortDate(person.birthDate),
    height: String(height),
    marital_status: person.maritalStatus,
    image_url: toPortraitPath(toPortraitCode(new Seed('nin', nin, 'portrait'), person.gender)),
    religion: seed.pick(RELIGIONS),
  }
}

function toNextOfKin(nin: string, person: Person): NinRecord['next_of_kin'] {
  const seed = new Seed('nin', nin, 'kin')
  const place = seed.chance(60) ? person.home : pickPlace(seed)
  return {
    firstname: pickFirstName(seed, seed.pick(['m', 'f'] as const), person.lastName, person.firstName),
    surname: person.lastName,
    address: pickAddress(seed, place),
    lga: place.lga,
    town: place.town,
    state: place.state,
  }
}

function toEducationProfession(nin: string): NinRecord['education_profession'] {
  const seed = new Seed('nin', nin, 'work')
  const { level, professions } = seed.pick(EDUCATION)
  return { educational_level: level, profession: seed.pick(professions) }
}
