import { pickDate, toDate } from './calendar.ts'
import {
  type Gender,
  type MaritalStatus,
  pickFirstName,
  pickMaritalStatus,
  pickSurname,
  toTitle,
} from './names.ts'
import { type Place, pickAddress, pickPlace } from './place.ts'
import { Seed } from './seed.ts'

export type Person = {
  readonly gender: Gender
  readonly title: string
  readonly firstName: string
  readonly middleName: string
  readonly lastName: string
  readonly maidenName: string
  readonly maritalStatus: MaritalStatus
  readonly birthDate: Date
  readonly origin: Place
  readonly birthplace: Place
  readonly home: Place
  readonly address: string
  readonly residenceStatus: string
}

// Fixed years: a range that moved with the clock would change people's dates of birth.
const FIRST_BIRTH_DATE = toDate(1950, 1, 1)
const LAST_BIRTH_DATE = toDate(2004, 12, 31)

/** The person behind a NIN: the same number is the same adult today and in ten years. */
export function toPerson(nin: string): Person {
  const birthDate = pickDate(new Seed('nin', nin, 'birth'), FIRST_BIRTH_DATE, LAST_BIRTH_DATE)
  return { ...toIdentity(nin, birthDate), birthDate, ...toPlaces(nin) }
}

export const toFullName = ({ firstName, middleName, lastName }: Person) =>
  middleName === '' ? `${firstName} ${lastName}` : `${firstName} ${middleName} ${lastName}`

function toIdentity(nin: string, birthDate: Date) {
  const seed = new Seed('nin', nin, 'name')
  const gender = seed.pick(['m', 'f'] as const)
  const maritalStatus = pickMaritalStatus(seed, birthDate)
  const title = toTitle(gender, maritalStatus)
  const lastName = pickSurname(seed)
  const firstName = pickFirstName(seed, gender, lastName)
  const middleName = seed.chance(85) ? pickFirstName(seed, gender, lastName, firstName) : ''
  const maidenName = title === 'Mrs' ? pickSurname(seed) : ''
  return { gender, maritalStatus, title, firstName, middleName, lastName, maidenName }
}

function toPlaces(nin: string) {
  const seed = new Seed('nin', nin, 'places')
  const origin = pickPlace(seed)
  const birthplace = seed.chance(70) ? origin : pickPlace(seed)
  const residenceStatus = seed.pick(['birth', 'Occupant'])
  const home = residenceStatus === 'birth' ? birthplace : pickPlace(seed)
  return { origin, birthplace, residenceStatus, home, address: pickAddress(seed, home) }
}
