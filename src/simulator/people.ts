import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import { type Day, readDay } from '../contract/time.ts'
import { toBvnRecord } from '../sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../sources/sandbox/nin-record.ts'

/**
 * The records of the simulated vendors. Every number has a synthetic person, whose phone is 0803 and the last seven digits of
 * the number. Numbers that begin with 99 or with four zeros have no record, nor have those that are too short. Of a virtual NIN, its
 * digits count.
 */
export const isUnknown = (number: string) => /^(99|0000|\d{0,10}$)/.test(toDigits(number))

/** The ten-digit core of the phone. */
export const toPhoneCoreOf = (number: string) => `803${toDigits(number).slice(-7)}`

export const toNinPerson = (number: string): NinRecord => toNinRecord(number, toPhoneCoreOf(number))
export const toBvnPerson = (number: string): BvnRecord => toBvnRecord(number, toPhoneCoreOf(number))

/** Another number, for a vendor that returns the wrong person. */
export const toOtherNumber = (number: string) =>
  number.replace(/\d+/, (digits) =>
    String((Number(digits) + 1) % 10 ** digits.length).padStart(digits.length, '0'),
  )

const toDigits = (number: string) => number.replace(/\D/g, '')

/** The NIN of a virtual NIN, at the vendors that return it. */
export const toNinBehind = (virtualNin: string) => toDigits(virtualNin).slice(1)

/** A day of a record in the spelling of a vendor. */
export function respellDay(text: string, spell: (day: Day) => string): string {
  const day = readDay(text)
  return day ? spell(day) : ''
}
