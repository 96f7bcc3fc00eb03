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

/** Only words that are hardly ever names themselves: Prince and Justice are names. */
export const TITLES: ReadonlySet<string> = new Set(
  [
    'mr mrs ms miss mister madam mallam malam mal sir lady dame dr doctor prof professor',
    'engr engineer arc architect barr barrister esq esquire pharm surv qs hon honourable honorable sen senator amb comr comrade',
    'chief otunba oloye alh alhaji alhaja haj hajia hajiya hajja',
    'rev revd reverend pst pastor evang evangelist',
  ]
    .join(' ')
    .split(' '),
)

/** The words of a name in one spelling: no case, accents, apostrophes, hyphens or dots. */
export const foldName = (name: string): readonly string[] =>
  name
    .normalize('NFKD')
    // U+0640 is the tatweel, which only makes an Arabic word longer.
    .replace(/[\p{M}\p{Cf}\u0640'‘’ʼʻ`´]/gu, '')
    .toUpperCase()
    .toLowerCase()
    .replace(PLAIN_PATTERN, (letter) => PLAIN[letter] ?? letter)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')

/** The same name: the same words in any order, or written together, with or without titles before and after them. */
export function isSameName(one: readonly string[], other: readonly string[]): boolean {
  if (one.length === 0 || other.length === 0) return false
  const readings = [other, withoutTitles(other)]
  return [one, withoutTitles(one)].some((mine) => readings.some((each) => isSameReading(mine, each)))
}

/** A name of nothing but titles is a name. */
export function withoutTitles(words: readonly string[]): readonly string[] {
  const start = words.findIndex(isNoTitle)
  return start === -1 ? words : words.slice(start, words.findLastIndex(isNoTitle) + 1)
}

const isNoTitle = (word: string) => !TITLES.has(word)

const isSameReading = (one: readonly string[], other: readonly string[]) =>
  one.join('') === other.join('') || one.toSorted().join(' ') === other.toSorted().join(' ')

/**
 * The names that are left after at least half of the words were found among them; undefined if fewer were. Initials do not
 * count. A long list of names does not match, so that one request cannot try many.
 */
export function takeNames(given: readonly string[], names: readonly string[]): readonly string[] | undefined {
  const words = withoutTitles(given)
  const left = [...names]
  const shared = words.filter((word) => word.length > 1 && remove(word, left))
  return shared.length > 0 && shared.length * 2 >= words.length ? left : undefined
}

function remove(word: string, names: string[]): boolean {
  const index = names.indexOf(word)
  if (index !== -1) names.splice(index, 1)
  return index !== -1
}
