import { toLocalPhone } from '../../contract/phone.ts'
import type { Seed } from './seed.ts'

/** The phone that belongs to nobody: it lets a client see what a mismatch looks like. */
const NOBODYS_PHONE = '8000000000'

const PREFIXES = ['803', '805', '806', '813', '816', '703', '706', '901', '903', '912'] as const

/** The run of zeros shows that the phone is made up; no prefix is the 800 of nobody's phone. */
export const pickPhone = (seed: Seed) => toLocalPhone(`${seed.pick(PREFIXES)}000${seed.digits(4)}`)

/** Everybody has the phone that was asked for, whatever it is. */
export const toPhoneOnRecord = (seed: Seed, phoneCore: string) =>
  phoneCore === NOBODYS_PHONE ? pickPhone(seed) : toLocalPhone(phoneCore)
