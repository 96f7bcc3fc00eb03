import { DETAIL_FIELDS, type DetailField, type PersonDetails, REQUIRE_MATCH } from '../contract/person.ts'
import { isSameDay, readDay } from '../contract/time.ts'
import type { Caller } from '../keys/caller.ts'

/** The fields of a record that details are compared with. */
export type PersonInfo = {
  readonly first_name: string
  readonly middle_name: string
  readonly last_name: string
  readonly full_name: string
  readonly maiden_name?: string
  readonly date_of_birth: string
}

/** Absent: not compared, because the request or the record does not have it, or the key must not see it. */
export type Levels = { readonly [Field in DetailField]?: Level | undefined }

/** The comparison of one verification. */
export type DetailMatch = {
  /** What the caller is told. Only about fields that its response shows. */
  readonly told: Levels
  /** Everything that was compared, for the audit log and the guess limit. */
  readonly compared: Levels
}

/** Compares details with a record. What the key must not see is compared only where the key requires it. */
export function matchDetails(details: PersonDetails, person: PersonInfo, caller: Caller): DetailMatch {
  const visible = hideFields(person, caller.hidden)
  const told = compare(details, visible)
  if (caller.requireMatch === undefined) return { told, compared: told }
  const all = compare(details, person)
  const required = REQUIRE_MATCH[caller.requireMatch].map((field) => [field, all[field]])
  return { told, compared: { ...told, ...Object.fromEntries(required) } }
}

/** What becomes of a key's requirement. `unknown`: the record does not have what is required. */
export function checkRequired(
  { requireMatch }: Caller,
  { compared }: DetailMatch,
): 'met' | 'mismatch' | 'unknown' {
  if (requireMatch === undefined) return 'met'
  const results = [
    ...(requireMatch === 'dob' ? [] : [checkNames(compared)]),
    ...(requireMatch === 'name' ? [] : [checkDay(compared)]),
  ]
  if (results.includes('mismatch')) return 'mismatch'
  return results.includes('unknown') ? 'unknown' : 'met'
}

/** A record without one of the names decides nothing: the other one may stand in the wrong field. */
function checkNames({ first_name, last_name }: Levels) {
  const levels = [first_name, last_name]
  if (levels.includes(undefined)) return 'unknown'
  return levels.includes('no') || !levels.includes('exact') ? 'mismatch' : 'met'
}

function checkDay({ date_of_birth }: Levels) {
  if (date_of_birth === undefined) return 'unknown'
  return date_of_birth === 'no' ? 'mismatch' : 'met'
}

/** `first_name=exact, date_of_birth=no`; undefined if nothing was compared. */
export function toMatchText(levels: Levels): string | undefined {
  const parts = DETAIL_FIELDS.flatMap((field) => (levels[field] ? [`${field}=${levels[field]}`] : []))
  return parts.length === 0 ? undefined : parts.join(', ')
}

/** The levels of a text that `toMatchText` made; null if nothing was compared. */
export const readMatchText = (text: string | undefined): Levels | null =>
  text === undefined
    ? null
    : (Object.fromEntries(text.split(', ').map((part) => part.split('=', 2))) as Levels)

export const hasMismatch = ({ compared }: DetailMatch) => Object.values(compared).includes('no')

function hideFields(person: PersonInfo, hidden: readonly string[]): PersonInfo {
  const shown = (field: keyof PersonInfo) =>
    hidden.includes(`personal_info.${field}`) ? '' : (person[field] ?? '')
  return {
    first_name: shown('first_name'),
    middle_name: shown('middle_name'),
    last_name: shown('last_name'),
    full_name: shown('full_name'),
    maiden_name: shown('maiden_name'),
    date_of_birth: shown('date_of_birth'),
  }
}

function compare({ first_name, last_name, date_of_birth }: PersonDetails, person: PersonInfo): Levels {
  return {
    ...compareNames(first_name, last_name, person),
    date_of_birth: date_of_birth === undefined ? undefined : toDayLevel(date_of_birth, person.date_of_birth),
  }
}

/** The family name is often written first. The names are read in the way in which they fit better. */
function compareNames(
  first_name: string | undefined,
  last_name: string | undefined,
  person: PersonInfo,
): Levels {
  const [first, last] = [fold(first_name), fold(last_name)]
  const [ownFirst, ownLast] = [fold(person.first_name), fold(person.last_name)]
  const others = toOtherNames(person, [...ownFirst, ...ownLast])
  const [firstLevel, lastLevel] = toLevels([first, last], [ownFirst, ownLast], others)
  const swapped = toSwappedLevels([first, last], [ownFirst, ownLast], others)
  const isSwapped = toRank(swapped) > toRank([firstLevel, lastLevel])
  const toKnown = (name: string | undefined, recorded: Words, level: Level) =>
    name !== undefined && isComparable(recorded, level) ? level : undefined
  return {
    first_name: toKnown(first_name, ownFirst, isSwapped ? swapped[0] : firstLevel),
    last_name: toKnown(last_name, ownLast, isSwapped ? swapped[1] : lastLevel),
  }
}

type Pair<T> = readonly [T, T]

/** Each name of the record serves one field, so that a first name is not accepted as the last name too. */
function toLevels(given: Pair<Words>, own: Pair<Words>, others: Words): Pair<Level> {
  const isExact = [isSameName(given[0], own[0]), isSameName(given[1], own[1])]
  let left: Words = [...own.flatMap((name, index) => (isExact[index] ? [] : withoutTitles(name))), ...others]
  const [first = 'no', last = 'no'] = given.map((name, index): Level => {
    const rest = isExact[index] ? undefined : takeNames(name, left)
    left = rest ?? left
    return isExact[index] ? 'exact' : rest ? 'partial' : 'no'
  })
  return [first, last]
}

const NO_LEVELS: Pair<Level> = ['no', 'no']

/** The levels with the family name in the first field. It must have a word of the family name, whatever else fits. */
function toSwappedLevels([first, last]: Pair<Words>, [ownFirst, ownLast]: Pair<Words>, others: Words) {
  if (!isSameName(first, ownLast) && !takeNames(first, withoutTitles(ownLast))) return NO_LEVELS
  return toLevels([first, last], [ownLast, ownFirst], others)
}

/** Better than any other: both fit, and one of them exactly. */
const toRank = (levels: Pair<Level>) =>
  levels.includes('no') || !levels.includes('exact') ? 0 : levels.filter((level) => level === 'exact').length

/** A record that has only initials does not say that a name is another one. */
const isComparable = (recorded: Words, level: Level) =>
  level === 'exact' ? recorded.length > 0 : recorded.some((word) => word.length > 1)

/** The further names, each once: a full name repeats the others, with titles between them. */
function toOtherNames({ middle_name, maiden_name, full_name }: PersonInfo, known: Words): readonly string[] {
  const others = new Set([
    ...[middle_name, maiden_name].map(fold).flatMap(withoutTitles),
    ...fold(full_name).filter(isNoTitle),
  ])
  return [...others.difference(new Set(known))]
}

type Words = readonly string[]

/** What a vendor masks with, and what a letter becomes that a vendor's database cannot hold: Ọlá is stored as ?l?. */
const UNREADABLE = /[*＊∗•●■█#?？\uFFFD]|x{3}/iu

/** A value that a vendor masked, in whole or in part, is as good as none. */
const fold = (name: string | undefined): Words =>
  name === undefined || UNREADABLE.test(name) ? [] : foldName(name)

function toDayLevel(given: string, recorded: string): Level | undefined {
  const [one, other] = [readDay(given), readDay(recorded)]
  if (!one || !other) return undefined
  return isSameDay(one, other) ? 'exact' : 'no'
}

/** How a name of the request compares with the record. docs/match.md defines each level. */
type Level = 'exact' | 'partial' | 'no'

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
function withoutTitles(words: readonly string[]): readonly string[] {
  const start = words.findIndex(isNoTitle)
  return start === -1 ? words : words.slice(start, words.findLastIndex(isNoTitle) + 1)
}

const isNoTitle = (word: string) => !TITLES.has(word)

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
