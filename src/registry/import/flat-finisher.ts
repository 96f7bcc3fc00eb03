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
import type { Value } from '../record-values.ts'

/** Normalises the values of a record as the row cleaner does. Returns its number; undefined when the row needs the cleaner. */
type FlatFinisher = (values: Value[]) => string | undefined

type SlotOf = (name: string) => number
/** False when the row needs the cleaner. */
type Step = (values: Value[]) => boolean

const NUMBER = /^\d{11}$/
const LOCAL_PHONE = /^0[789][01]\d{8}$/

export function createFlatFinisher(kind: Kind, slotOf: SlotOf): FlatFinisher {
  const slot = slotOf(`${kind}_number`)
  const steps = kind === 'nin' ? toNinSteps(slotOf) : toBvnSteps(slotOf)
  return (values) => {
    const number = values[slot] ?? ''
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
    (values) => values[second] === null || finishSecond(values),
    finishName(slotOf),
    finishBirthday(slotOf, readBvnDay),
    (values) => {
      const text = values[registered] ?? ''
      const day = text === '' ? undefined : readBvnDay(text)
      if (day) values[registered] = day.words
      return text === '' || day !== undefined
    },
  ]
}

function finishPhone(slot: number): Step {
  return (values) => {
    const text = values[slot] ?? ''
    if (LOCAL_PHONE.test(text)) return true
    const core = toPhoneCore(text)
    if (core !== undefined) values[slot] = toLocalPhone(core)
    return core !== undefined
  }
}

function finishName(slotOf: SlotOf): Step {
  const full = slotOf('personal_info.full_name')
  const parts = ['first_name', 'middle_name', 'last_name'].map((name) => slotOf(`personal_info.${name}`))
  return (values) => {
    if (values[full] === '')
      values[full] = parts
        .map((part) => values[part])
        .filter((name) => name !== '')
        .join(' ')
    return true
  }
}

function finishBirthday(slotOf: SlotOf, read: DayReader): Step {
  const figures = slotOf('personal_info.date_of_birth')
  const words = slotOf('personal_info.formatted_date_of_birth')
  return (values) => {
    const first = values[figures] ?? ''
    const second = values[words] ?? ''
    if (first === '' && second === '') return true
    const day = read(first === '' ? second : first)
    if (!day) return false
    const isSame = second === '' || second === day.words || read(second)?.figures === day.figures
    if (!isSame) return false
    values[figures] = day.figures
    values[words] = day.words
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
