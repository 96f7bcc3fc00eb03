import { toHyphenatedDay, toLongDay, toNumericDay, toShortDay } from '../../contract/date.ts'
import { toFullName } from '../../contract/full-name.ts'
import { saysNotListed } from '../../contract/no-value.ts'
import { toLocalPhone, toPhoneCore } from '../../contract/phone.ts'
import type { Kind } from '../../crypto/blind-index.ts'
import { createDayReader, createUsualDays, type DayReader } from './flat-days.ts'
import { clearValue, type FlatValues, isBlank, readText } from './flat-values.ts'

/**
 * Normalises the values of a record as the row cleaner does. Returns the digits of its number, which are valid until the next
 * one; undefined when the row needs the cleaner.
 */
type FlatFinisher = (values: FlatValues) => Buffer | undefined

type SlotOf = (name: string) => number
/** False when the row needs the cleaner. */
type Step = (values: FlatValues) => boolean

const NUMBER_DIGITS = 11

export function createFlatFinisher(kind: Kind, slotOf: SlotOf): FlatFinisher {
  const slot = slotOf(`${kind}_number`)
  const steps = kind === 'nin' ? toNinSteps(slotOf) : toBvnSteps(slotOf)
  const number = Buffer.alloc(NUMBER_DIGITS)
  return (values) => {
    if (!copyNumber(values, slot, number)) return undefined
    return steps.every((step) => step(values)) ? number : undefined
  }
}

/** False when it is not eleven digits in the bytes of the chunk. */
function copyNumber({ bytes, starts, ends }: FlatValues, slot: number, target: Buffer): boolean {
  const start = starts[slot] as number
  if ((ends[slot] as number) - start !== NUMBER_DIGITS) return false
  for (let index = 0; index < NUMBER_DIGITS; index++) {
    const byte = bytes[start + index] as number
    if (byte < DIGIT_0 || byte > DIGIT_0 + 9) return false
    target[index] = byte
  }
  return true
}

const toNinSteps = (slotOf: SlotOf): Step[] => [
  finishPhone(slotOf('personal_info.phone_number')),
  finishName(slotOf),
  finishBirthday(slotOf, createDayReader(toNumericDay, toShortDay)),
]

function toBvnSteps(slotOf: SlotOf): Step[] {
  const second = slotOf('personal_info.phone_number_2')
  const finishSecond = finishPhone(second)
  const registered = slotOf('formatted_registration_date')
  const watchlisted = slotOf('watchlisted')
  const readBvnDay = createDayReader(toHyphenatedDay, toLongDay)
  return [
    finishPhone(slotOf('personal_info.phone_number')),
    (values) => isBlank(values, second) || finishSecond(values),
    finishName(slotOf),
    finishBirthday(slotOf, readBvnDay),
    (values) => {
      const text = readText(values, registered)
      const day = text === '' ? undefined : readBvnDay(text)
      if (day) values.texts[registered] = day.words
      return text === '' || day !== undefined
    },
    (values) => {
      if (!isBlank(values, watchlisted) && saysNotListed(readText(values, watchlisted)))
        clearValue(values, watchlisted)
      return true
    },
  ]
}

function finishPhone(slot: number): Step {
  return (values) => {
    if (isLocalPhone(values, slot)) return true
    const core = toPhoneCore(readText(values, slot))
    if (core !== undefined) values.texts[slot] = toLocalPhone(core)
    return core !== undefined
  }
}

const LOCAL_DIGITS = 11
const DIGIT_0 = 0x30

/** 0, then 7, 8 or 9, then 0 or 1, and eight digits, in the bytes of the chunk. */
function isLocalPhone({ bytes, starts, ends }: FlatValues, slot: number): boolean {
  const start = starts[slot] as number
  if ((ends[slot] as number) - start !== LOCAL_DIGITS) return false
  const digit = (index: number) => (bytes[start + index] as number) - DIGIT_0
  for (let index = 3; index < LOCAL_DIGITS; index++) if (digit(index) < 0 || digit(index) > 9) return false
  return digit(0) === 0 && digit(1) >= 7 && digit(1) <= 9 && (digit(2) === 0 || digit(2) === 1)
}

function finishName(slotOf: SlotOf): Step {
  const full = slotOf('personal_info.full_name')
  const parts = ['first_name', 'middle_name', 'last_name'].map((name) => slotOf(`personal_info.${name}`))
  return (values) => {
    if (isBlank(values, full)) values.texts[full] = toFullName(parts.map((part) => readText(values, part)))
    return true
  }
}

function finishBirthday(slotOf: SlotOf, read: DayReader): Step {
  const figures = slotOf('personal_info.date_of_birth')
  const words = slotOf('personal_info.formatted_date_of_birth')
  const usual = createUsualDays(figures, words)
  const finish = (values: FlatValues, first: string, second: string): boolean => {
    const day = read(first === '' ? second : first)
    if (!day) return false
    const isSame = second === '' || second === day.words || read(second)?.figures === day.figures
    if (!isSame) return false
    if (first !== day.figures) values.texts[figures] = day.figures
    if (second !== day.words) values.texts[words] = day.words
    if (first === day.figures && second === day.words) usual.add(values, day)
    return true
  }
  return (values) => {
    if (usual.has(values)) return true
    const first = readText(values, figures)
    const second = readText(values, words)
    return (first === '' && second === '') || finish(values, first, second)
  }
}
