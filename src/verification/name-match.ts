/** How a name of the request compares with the record. docs/match.md defines each level. */
export type Level = 'exact' | 'partial' | 'no'

/** Letters that Unicode does not decompose into a plain letter and a mark. */
const PLAIN: Readonly<Record<string, string>> = {
  ɓ: 'b',
  ɗ: 'd',
  ƙ: 'k',
  ƴ: 'y',
  ǝ: 'e',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  æ: 'ae',
  œ: 'oe',
  ς: 'σ',
}
const PLAIN_PATTERN = new RegExp(`[${Object.keys(PLAIN).join('')}]`, 'gu')

/** Only words that are hardly ever names themselves. */
const TITLES = new Set(
  'mr mrs ms miss mister dr prof professor engr chief alh alhaji alhaja hajia hajiya mallam barr rev hon'.split(
    ' ',
  ),
)

/** The words of a name in one spelling: no case, accents, apostrophes, hyphens or dots. */
export const foldName = (name: string): readonly string[] =>
  name
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}'‘’ʼʻ`´]/gu, '')
    .toUpperCase()
    .toLowerCase()
    .replace(PLAIN_PATTERN, (letter) => PLAIN[letter] ?? letter)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')

/** The same name: the same words in any order, or written together, with or without titles before them. */
export function isSameName(one: readonly string[], other: readonly string[]): boolean {
  if (one.length === 0 || other.length === 0) return false
  const others = toReadings(other)
  return toReadings(one).some((reading) => others.some((each) => isSameReading(reading, each)))
}

function toReadings(words: readonly string[]): readonly (readonly string[])[] {
  const start = words.findIndex((word) => !TITLES.has(word))
  return start > 0 ? [words, words.slice(start)] : [words]
}

const isSameReading = (one: readonly string[], other: readonly string[]) =>
  one.join('') === other.join('') || one.toSorted().join(' ') === other.toSorted().join(' ')

/**
 * At least half of the words are names of the person. Initials do not count. A long list of names does not match, so that one
 * request cannot try many.
 */
export function sharesNames(given: readonly string[], known: ReadonlySet<string>): boolean {
  const words = toReadings(given).at(-1) ?? []
  const shared = words.filter((word) => word.length > 1 && known.has(word))
  return shared.length > 0 && shared.length * 2 >= words.length
}
