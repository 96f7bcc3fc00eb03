import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import { toBvnRecord } from '../sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../sources/sandbox/nin-record.ts'

/**
 * Whom the stand-ins know. Every number is a synthetic person, whose phone is 0803 and the last seven digits of the number;
 * numbers that begin with 99 are nobody's.
 */
export const isNobody = (number: string) => number.startsWith('99')

/** The ten-digit core. */
export const toCore = (number: string) => `803${number.slice(-7)}`

export const toNinPerson = (number: string): NinRecord => toNinRecord(number, toCore(number))
export const toBvnPerson = (number: string): BvnRecord => toBvnRecord(number, toCore(number))

/** Somebody else, for a vendor that mixes people up. */
export const toOther = (number: string) => String((Number(number) + 1) % 1e11).padStart(11, '0')
