import { DETAIL_FIELDS, type DetailField, type PersonDetails, REQUIRE_MATCH } from '../contract/person.ts'
import { isSameDay, readDay } from '../contract/time.ts'
import type { Caller } from '../keys/caller.ts'
import { foldName, isNoTitle, isSameName, type Level, takeNames, withoutTitles } from './name-match.ts'

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
