import { isSameDay, readDay } from '../contract/date.ts'
import {
  DETAIL_FIELDS,
  type DetailField,
  type PersonDetails,
  REQUIRE_MATCH,
} from '../contract/person-details.ts'
import type { Caller } from '../keys/caller.ts'
import { HIDDEN } from './mask.ts'
import { foldName, isSameName, type Level, sharesNames } from './name-match.ts'

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
  const levels = requireMatch === undefined ? [] : REQUIRE_MATCH[requireMatch].map((field) => compared[field])
  if (levels.includes('no')) return 'mismatch'
  return levels.includes(undefined) ? 'unknown' : 'met'
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
  const record = foldAll(person)
  const first = fold(first_name)
  const last = fold(last_name)
  // The family name is often written first.
  const isSwapped = isSameName(first, record.last) && isSameName(last, record.first)
  return {
    first_name: first_name === undefined ? undefined : toNameLevel(first, record.first, record, isSwapped),
    last_name: last_name === undefined ? undefined : toNameLevel(last, record.last, record, isSwapped),
    date_of_birth: date_of_birth === undefined ? undefined : toDayLevel(date_of_birth, person.date_of_birth),
  }
}

type FoldedPerson = {
  readonly first: readonly string[]
  readonly last: readonly string[]
  readonly full: readonly string[]
  readonly all: ReadonlySet<string>
}

/** A masked value of a vendor is as good as none. */
const fold = (name: string | undefined) => (name === undefined || name === HIDDEN ? [] : foldName(name))

function foldAll({ first_name, middle_name, last_name, maiden_name, full_name }: PersonInfo): FoldedPerson {
  const [first, last, full] = [fold(first_name), fold(last_name), fold(full_name)]
  return {
    first,
    last,
    full,
    all: new Set([...first, ...fold(middle_name), ...last, ...fold(maiden_name), ...full]),
  }
}

function toNameLevel(
  given: readonly string[],
  own: readonly string[],
  { full, all }: FoldedPerson,
  isSwapped: boolean,
): Level | undefined {
  if (own.length === 0 && full.length === 0) return undefined
  if (isSwapped || isSameName(given, own)) return 'exact'
  return sharesNames(given, all) ? 'partial' : 'no'
}

function toDayLevel(given: string, recorded: string): Level | undefined {
  const [one, other] = [readDay(given), readDay(recorded)]
  if (!one || !other) return undefined
  return isSameDay(one, other) ? 'exact' : 'no'
}
