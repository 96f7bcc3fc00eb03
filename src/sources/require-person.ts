import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import { toLocalPhone } from '../contract/phone.ts'
import { splitPhones, UNREADABLE } from '../contract/recorded-phones.ts'
import { isVirtualNin, toCanonicalNin } from '../contract/virtual-nin.ts'
import { toNumber } from './record.ts'
import { type Answer, SourceError } from './source.ts'
import type { SourceProblem } from './source-problem.ts'

type Found<T> = Extract<Answer<T>, { found: true }>

/**
 * Returns the answer if its record has the requested number, a name, and a phone that can be compared with the requested
 * one. Otherwise the source has failed.
 */
export function requirePerson<T extends NinRecord | BvnRecord>(
  source: string,
  requested: { readonly number: string; readonly phone: string },
  answer: Found<T>,
): Found<T> {
  const { record } = answer
  const wrong = (problem: SourceProblem) => new SourceError(source, 'bad_response', { problem })
  if (!isAbout(answer, requested.number)) throw wrong('wrong_person')
  const info = record.personal_info
  const names = [info.first_name, info.middle_name, info.last_name, info.full_name]
  if (names.every((name) => name === '')) throw wrong('unknown_shape')
  return { ...answer, record: { ...record, personal_info: selectPhones(source, info, requested.phone) } }
}

/**
 * The answer to a virtual NIN may have the NIN behind it, if it repeats the virtual NIN, or if the vendor does not always do that. A
 * virtual NIN that it repeats must be the requested one.
 */
function isAbout<T extends NinRecord | BvnRecord>(
  { record, virtualNin, mayOmitVirtualNin }: Found<T>,
  requested: string,
): boolean {
  const number = 'nin_number' in record ? record.nin_number : record.bvn_number
  if (!isVirtualNin(requested)) return number === requested
  const repeated = toCanonicalNin(toNumber(virtualNin))
  if (repeated !== '' && repeated !== requested) return false
  const isNin = /^\d{11}$/.test(number)
  return number === requested || (isNin && (repeated === requested || mayOmitVirtualNin === true))
}

type Phones = { readonly phone_number: string; readonly phone_number_2?: string | null }

/**
 * The phones to return: each as 0803…, and the requested one if it is among them. A phone that cannot be read may be the
 * right one, so neither answer is certain. That is no fault of the source.
 */
function selectPhones<T extends Phones>(source: string, info: T, phone: string): T {
  const wanted = toLocalPhone(phone)
  const first = splitPhones(info.phone_number)
  const second = splitPhones(info.phone_number_2 ?? '')
  const all = [...first, ...second]
  const isComparable = all.length > 0 && !all.includes(UNREADABLE)
  if (!all.includes(wanted) && !isComparable) {
    throw new SourceError(source, 'bad_response', { problem: toProblem(all) })
  }
  const phone_number = choose(first, wanted)
  if (!('phone_number_2' in info)) return { ...info, phone_number }
  const left = first.filter((each) => each !== phone_number && each !== UNREADABLE)
  return { ...info, phone_number, phone_number_2: choose(second, wanted) || choose(left, wanted) || null }
}

function toProblem(phones: readonly string[]): SourceProblem {
  if (phones.length === 0) return 'no_phone'
  return phones.every((each) => each === UNREADABLE) ? 'unreadable_phone' : 'mixed_phones'
}

/** The requested phone, or the first Nigerian mobile; masked when only an unreadable one is there. */
const choose = (phones: readonly string[], wanted: string): string =>
  phones.find((each) => each === wanted) ??
  phones.find((each) => each.startsWith('0')) ??
  (phones.includes(UNREADABLE) ? UNREADABLE : '')
