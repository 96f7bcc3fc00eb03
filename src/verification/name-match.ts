/** How a name of the request compares with the record. docs/match.md defines each level. */
export type Level = 'exact' | 'partial' | 'no'

/** Letters that Unicode does not decompose into a plain letter and a mark. */
const PLAIN: Readonly<Record<string, string>> = {
  ɓ: 'b',
  ɗ: 'd',
  ƙ: 'k',
  ƴ: 'y',
  ǝ: 'e',
  ə: 'e',
  ɛ: 'e',
  ɔ: 'o',
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
    // Lm: the tatweel, which only makes an Arabic word longer, and the apostrophes among the letters (ʼ ʻ ʾ ʿ).
    .replace(/[\p{M}\p{Cf}\p{Lm}'‘’‛′`´]/gu, '')
    // First small, because a capital ẞ is its own capital, while a small ß becomes SS.
    .toLowerCase()
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

export const isNoTitle = (word: string) => !TITLES.has(word)

const isSameReading = (one: readonly string[], other: readonly string[]) =>
  one.join('') === other.join('') || one.toSorted().join(' ') === other.toSorted().join(' ')

/**
 * The names that are left after at least half of the words were found among them; undefined if fewer were. Initials and
 * titles do not count, neither for nor against. A long list of names does not match, so that one request cannot try many.
 */
export function takeNames(given: readonly string[], names: readonly string[]): readonly string[] | undefined {
  const words = withoutTitles(given)
  const counted = words.some(isNoTitle) ? isNoTitle : () => true
  const isCounted = (word: string) => word.length > 1 && counted(word)
  const left = [...names]
  const found: string[] = []
  for (let at = 0; at < words.length; ) {
    const taken = takeRun(words.slice(at), left)
    found.push(...words.slice(at, at + taken))
    at += Math.max(taken, 1)
  }
  const [shared, all] = [found.filter(isCounted).length, words.filter(isCounted).length]
  return shared > 0 && shared * 2 >= all ? left : undefined
}

/** Names that are written as one word or as several: Abdulrahman, Abdul Rahman. */
const MAX_PARTS = 4

/** Takes the name that the words begin with. Returns how many words it has; 0 if there is none. */
function takeRun(words: readonly string[], names: string[]): number {
  for (let parts = Math.min(MAX_PARTS, words.length); parts > 0; parts--)
    if (take(words.slice(0, parts).join(''), names)) return parts
  return 0
}

/** Removes the name, or the names in a row that give it when they are written together. */
function take(word: string, names: string[]): boolean {
  for (let start = 0; start < names.length; start++) {
    let [text, parts] = ['', 0]
    while (parts < MAX_PARTS && text.length < word.length && word.startsWith(text)) {
      text += names[start + parts] ?? ''
      parts += 1
    }
    if (text !== word) continue
    names.splice(start, parts)
    return true
  }
  return false
}
