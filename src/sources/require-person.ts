import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import { toLocalPhone } from '../contract/phone.ts'
import { splitPhones, UNREADABLE } from '../contract/recorded-phones.ts'
import { type Answer, SourceError } from './source.ts'
import type { Trouble } from './trouble.ts'

type Found<T> = Extract<Answer<T>, { found: true }>

/**
 * The answer, if its record is about the number that was asked for, has a name, and has a phone that can be compared with the
 * one that was asked for. Anything else is no answer.
 */
export function requirePerson<T extends NinRecord | BvnRecord>(
  source: string,
  asked: { readonly number: string; readonly phone: string },
  answer: Found<T>,
): Found<T> {
  const { record } = answer
  const wrong = (trouble: Trouble) => new SourceError(source, 'bad_response', { trouble })
  if (('nin_number' in record ? record.nin_number : record.bvn_number) !== asked.number)
    throw wrong('wrong_person')
  const info = record.personal_info
  const names = [info.first_name, info.middle_name, info.last_name, info.full_name]
  if (names.every((part) => part === '')) throw wrong('unknown_shape')
  return { ...answer, record: { ...record, personal_info: settlePhones(source, info, asked.phone) } }
}

type Phones = { readonly phone_number: string; readonly phone_number_2?: string | null }

/**
 * The phones as they are answered: each as 0803…, and the one that was asked for if it is among them. A phone that cannot be
 * read may be the right one: then the record says neither yes nor no. That is about this person, not about the source.
 */
function settlePhones<T extends Phones>(source: string, info: T, phone: string): T {
  const wanted = toLocalPhone(phone)
  const first = splitPhones(info.phone_number)
  const second = splitPhones(info.phone_number_2 ?? '')
  const all = [...first, ...second]
  const isComparable = all.length > 0 && !all.includes(UNREADABLE)
  if (!all.includes(wanted) && !isComparable) {
    throw new SourceError(source, 'bad_response', { trouble: toTrouble(all), fault: 'question' })
  }
  const phone_number = choose(first, wanted)
  if (!('phone_number_2' in info)) return { ...info, phone_number }
  const left = first.filter((each) => each !== phone_number && each !== UNREADABLE)
  return { ...info, phone_number, phone_number_2: choose(second, wanted) || choose(left, wanted) || null }
}

function toTrouble(phones: readonly string[]): Trouble {
  if (phones.length === 0) return 'no_phone'
  return phones.every((each) => each === UNREADABLE) ? 'unreadable_phone' : 'mixed_phones'
}

/** The phone that was asked for, or the first that is a Nigerian mobile; hidden when there is one that cannot be read. */
const choose = (phones: readonly string[], wanted: string): string =>
  phones.find((each) => each === wanted) ??
  phones.find((each) => each.startsWith('0')) ??
  (phones.includes(UNREADABLE) ? UNREADABLE : '')
