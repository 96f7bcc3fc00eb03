import { toLocalPhone } from '../../contract/phone.ts'
import { Seed } from './seed.ts'

/** The phone that never matches, so that a client can test a mismatch. */
const MISMATCH_PHONE = '8000000000'

const PREFIXES = ['803', '805', '806', '813', '816', '703', '706', '901', '903', '912'] as const

/** The run of zeros shows that the phone is made up; no prefix is the 800 of the mismatch phone. */
export const pickPhone = (seed: Seed) => toLocalPhone(`${seed.pick(PREFIXES)}000${seed.digits(4)}`)

/** Every record has the requested phone, except the mismatch phone. */
export const toPhoneOnRecord = (kind: 'nin' | 'bvn', number: string, phoneCore: string) =>
  phoneCore === MISMATCH_PHONE ? pickPhone(new Seed(kind, number, 'phone')) : toLocalPhone(phoneCore)
