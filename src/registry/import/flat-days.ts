import { type Day, readDay } from '../../contract/date.ts'
import { type FlatValues, isAscii } from './flat-values.ts'

type DayTexts = { readonly figures: string; readonly words: string }
export type DayReader = (text: string) => DayTexts | undefined

/** About the days of a lifetime. */
const MOST_DAYS = 30_000

/** Remembers days: those of a million people repeat. A day in the future is not remembered. */
export function createDayReader(toFigures: (day: Day) => string, toWords: (day: Day) => string): DayReader {
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

/** A power of two, more than the days of a lifetime. */
const USUAL_DAYS = 65_536

/** Days that stand in the chunk as they are stored, recognised by their bytes: a text for each would cost more than to compare them. */
export function createUsualDays(figures: number, words: number) {
  const days = new Array<DayTexts | undefined>(USUAL_DAYS).fill(undefined)
  const toPlace = ({ bytes, starts, ends }: FlatValues) => {
    let sum = 0
    for (let at = starts[figures] as number; at < (ends[figures] as number); at++)
      sum = (Math.imul(sum, 31) + (bytes[at] as number)) | 0
    return sum & (USUAL_DAYS - 1)
  }
  return {
    has: (values: FlatValues): boolean => {
      const day = days[toPlace(values)]
      return day !== undefined && isAscii(values, figures, day.figures) && isAscii(values, words, day.words)
    },
    add: (values: FlatValues, day: DayTexts): void => {
      days[toPlace(values)] = day
    },
  }
}
