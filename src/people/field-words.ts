import { listRecordFields } from '../keys/field-policy.ts'

/** The fields of a record in plain words. */

/** Where the name of the field alone would be unclear. */
const LABELS: Readonly<Record<string, string>> = {
  'next_of_kin.firstname': 'next of kin: first name',
  'residential_info.address': 'residential address',
  'personal_info.phone_number_2': 'second phone number',
  'personal_info.formatted_date_of_birth': 'date of birth in words',
  formatted_registration_date: 'registration date',
  document_no: 'document number',
  consentReference: 'consent reference',
}

const GROUPS: Readonly<Record<string, string>> = {
  personal_info: 'personal details',
  residential_info: 'residence',
  indigene_info: 'origin and birth',
  education_profession: 'education and profession',
}

const SHORT_WORDS = /\b(nin|bvn|lga|url)\b/g

/** `personal_info.first_name` becomes `first name`, a group `next of kin`. */
function toFieldWords(path: string): string {
  const [group = '', field] = path.split('.')
  const words = LABELS[path] ?? GROUPS[path] ?? (field ?? group).replaceAll('_', ' ')
  const named = group === 'next_of_kin' && field && !LABELS[path] ? `next of kin: ${words}` : words
  return named.replaceAll(SHORT_WORDS, (word) => word.toUpperCase())
}

/** `First name` */
export function toFieldLabel(path: string): string {
  const words = toFieldWords(path)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** `first name, last name, next of kin`: the fields that fit. A group of which all fit stands for its fields. */
export const toFieldList = (all: readonly string[], fits: (path: string) => boolean): string =>
  joinGroups(all, fits).map(toFieldWords).join(', ')

/**
 * What an answer released, from its short form, in which a group that was shown whole stands for its fields: `all fields but next
 * of kin`, or the fields if they are fewer.
 */
export function toReleasedWords(kind: 'nin' | 'bvn', released: readonly string[]): string {
  if (released.length === 0) return 'nothing'
  const shown = new Set(released)
  const all = listRecordFields(kind)
  const isShown = (path: string) => shown.has(path) || shown.has(path.split('.', 1)[0] ?? '')
  const hidden = joinGroups(all, (path) => !isShown(path))
  if (hidden.length === 0) return 'all fields'
  const given = joinGroups(all, isShown)
  if (given.length === 0) return 'the number only'
  return hidden.length < given.length
    ? `all fields but ${hidden.map(toFieldWords).join(', ')}`
    : given.map(toFieldWords).join(', ')
}

function joinGroups(all: readonly string[], fits: (path: string) => boolean): string[] {
  const groups = Map.groupBy(all, (path) => path.split('.', 1)[0] ?? '')
  return [...groups].flatMap(([group, paths]) => (paths.every(fits) ? [group] : paths.filter(fits)))
}
