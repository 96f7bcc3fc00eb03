import { toLocalPhone } from '../../contract/person.ts'
import {
  DAY_MS,
  type Day,
  toHyphenatedDay,
  toLongDay,
  toNumericDay,
  toShortDay,
} from '../../contract/time.ts'
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

/** A calendar date, kept as midnight UTC so that no time zone can move it. */
export function toDate(year: number, month: number, day: number): Date {
  return new Date(Date.UTC(year, month - 1, day))
}

/** A day from the first to the last, both included. Counting in days makes only dates that exist. */
export const pickDate = (seed: Seed, first: Date, last: Date) =>
  new Date(first.getTime() + seed.between(0, (last.getTime() - first.getTime()) / DAY_MS) * DAY_MS)

export const addYears = (date: Date, years: number) =>
  toDate(date.getUTCFullYear() + years, date.getUTCMonth() + 1, date.getUTCDate())

export const addDays = (date: Date, days: number) => new Date(date.getTime() + days * DAY_MS)

const toDay = (date: Date): Day => ({
  year: date.getUTCFullYear(),
  month: date.getUTCMonth() + 1,
  day: date.getUTCDate(),
})

/** 05-01-1990 */
export const toNumericDate = (date: Date) => toNumericDay(toDay(date))

/** 05-Jan-1990 */
export const toHyphenatedDate = (date: Date) => toHyphenatedDay(toDay(date))

/** Jan 5, 1990 */
export const toShortDate = (date: Date) => toShortDay(toDay(date))

/** January 5, 1990 */
export const toLongDate = (date: Date) => toLongDay(toDay(date))

/** The phone that never matches, so that a client can test a mismatch. */
const MISMATCH_PHONE = '8000000000'

const PREFIXES = ['803', '805', '806', '813', '816', '703', '706', '901', '903', '912'] as const

/** The run of zeros shows that the phone is made up; no prefix is the 800 of the mismatch phone. */
export const pickPhone = (seed: Seed) => toLocalPhone(`${seed.pick(PREFIXES)}000${seed.digits(4)}`)

/** Every record has the requested phone, except the mismatch phone. */
export const toPhoneOnRecord = (kind: 'nin' | 'bvn', number: string, phoneCore: string) =>
  phoneCore === MISMATCH_PHONE ? pickPhone(new Seed(kind, number, 'phone')) : toLocalPhone(phoneCore)
