import {
  type Day,
  readDay,
  toHyphenatedDay,
  toLongDay,
  toNumericDay,
  toShortDay,
} from '../../contract/date.ts'
import { toLocalPhone, toPhoneCore } from '../../contract/phone.ts'
import type { Kind } from '../../crypto/blind-index.ts'
import { type FlatValues, isBlank, readText } from './flat-values.ts'

/** Normalises the values of a record as the row cleaner does. Returns its number; undefined when the row needs the cleaner. */
type FlatFinisher = (values: FlatValues) => string | undefined

type SlotOf = (name: string) => number
/** False when the row needs the cleaner. */
type Step = (values: FlatValues) => boolean

const NUMBER = /^\d{11}$/

export function createFlatFinisher(kind: Kind, slotOf: SlotOf): FlatFinisher {
  const slot = slotOf(`${kind}_number`)
  const steps = kind === 'nin' ? toNinSteps(slotOf) : toBvnSteps(slotOf)
  return (values) => {
    const number = readText(values, slot)
    return NUMBER.test(number) && steps.every((step) => step(values)) ? number : undefined
  }
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
    if (isBlank(values, full))
      values.texts[full] = parts
        .map((part) => readText(values, part))
        .filter((name) => name !== '')
        .join(' ')
    return true
  }
}

function finishBirthday(slotOf: SlotOf, read: DayReader): Step {
  const figures = slotOf('personal_info.date_of_birth')
  const words = slotOf('personal_info.formatted_date_of_birth')
  return (values) => {
    const first = readText(values, figures)
    const second = readText(values, words)
    if (first === '' && second === '') return true
    const day = read(first === '' ? second : first)
    if (!day) return false
    const isSame = second === '' || second === day.words || read(second)?.figures === day.figures
    if (!isSame) return false
    if (first !== day.figures) values.texts[figures] = day.figures
    if (second !== day.words) values.texts[words] = day.words
    return true
  }
}

type DayTexts = { readonly figures: string; readonly words: string }
type DayReader = (text: string) => DayTexts | undefined

/** About the days of a lifetime. */
const MOST_DAYS = 30_000

/** Remembers days: those of a million people repeat. A day in the future is not remembered. */
function createDayReader(toFigures: (day: Day) => string, toWords: (day: Day) => string): DayReader {
  const known = new Map<string, DayTexts>()
  return (text) => {
    const found = known.get(text)
    if (found) return found
    const day = readDay(text)
    if (!day) return undefined
    const texts = { figures: toFigures(day), words: toWords(day) }
    // A copy: the text may be a part of the row, which it would keep in memory.
    if (known.size < MOST_DAYS) known.set(Buffer.from(text).toString(), texts)
    return texts
  }
}
