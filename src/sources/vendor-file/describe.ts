import { isSource } from './answer.ts'
import type { AnswerMap, FieldMap, FieldSource } from './answer-map.ts'
import type { Condition, OperationName, OutcomeName } from './schema.ts'

/** What each outcome of a rule means, for people. */
export const OUTCOME_TEXTS: Readonly<Record<OutcomeName, string>> = {
  found: 'there is a record',
  not_found: 'there is no such person, or the vendor compared the phone and it differs',
  watch_listed: 'the number is blocked or on a watch list, and there is no record',
  names_differ: 'the vendor compared the names or the date of birth and they differ, and there is no record',
  refused: 'failure: the credentials are not accepted',
  no_funds: 'failure: the account has no funds',
  throttled: 'failure: too many calls',
  repeated: 'failure: the vendor has got a call with this id before, and does not answer it again',
  malformed_request: 'failure: the vendor does not accept the request',
  failure: 'failure: the vendor or its own source does not work for now',
  contradiction: 'failure: the answer says two things at the same time',
  unknown: 'failure: the answer is not in the documented format',
  by_status: 'failure: what the status in the answer means',
}

/** The parts of a condition, each as a condition of its own: all must hold. */
export function listParts(condition: Condition): Condition[] {
  const { status, values = [], text, present = [], any_present, absent = [], names_sent } = condition
  return [
    ...(status ? [{ status }] : []),
    ...values.map((value) => ({ values: [value] })),
    ...present.map((path) => ({ present: [path] })),
    ...absent.map((path) => ({ absent: [path] })),
    ...(any_present ? [{ any_present }] : []),
    ...(names_sent === undefined ? [] : [{ names_sent }]),
    ...(text ? [{ text }] : []),
  ]
}

/** One part of a condition in plain words. */
export function describePart({ status, values, text, present, any_present, absent, names_sent }: Condition) {
  const [value] = values ?? []
  if (status) return `the HTTP status is ${toChoice(status)}`
  if (value?.is) return `${value.at} is ${toChoice(value.is.map((each) => JSON.stringify(each)))}`
  if (value)
    return `${value.at} is there, and not ${toChoice((value.is_not ?? []).map((each) => JSON.stringify(each)))}`
  if (present) return `${present.join(', ')} is there`
  if (absent) return `${absent.join(', ')} is not there`
  if (any_present) return `one of ${any_present.join(', ')} has a content`
  if (names_sent !== undefined) return `the request had ${names_sent ? 'names' : 'no names'}`
  if (!text) return 'always'
  const place = text.at ?? 'the error text'
  const unless = text.unless ? `, and in none of ${text.unless.join(', ')}` : ''
  return `${place} is in the list ${toChoice(text.says)}${unless}`
}

const toChoice = (choices: readonly unknown[]) =>
  choices.length < 2 ? choices.join('') : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`

type PhoneSource = AnswerMap['phones'][number]

/** A part of the API's answer, and where the file says it is. */
export type Place = {
  readonly field: string
  readonly source: FieldSource | PhoneSource | { readonly join: readonly PhoneSource[] }
}

/** Where each part of a record comes from, in the order of the file. */
export function listPlaces(operation: OperationName, map: AnswerMap): Place[] {
  const number = operation === 'bvn' ? 'bvn_number' : 'nin_number'
  return [
    ...(map.number ? [{ field: number, source: map.number.at }] : []),
    ...(map.virtual_nin ? [{ field: 'virtual NIN', source: map.virtual_nin.at }] : []),
    { field: 'personal_info.phone_number', source: { join: map.phones } },
    ...(map.second_phones
      ? [{ field: 'personal_info.phone_number_2', source: { join: map.second_phones } }]
      : []),
    ...(map.reference === undefined ? [] : [{ field: 'reference', source: map.reference }]),
    ...(map.price === undefined ? [] : [{ field: 'price', source: map.price }]),
    ...listFieldPlaces(map.fields ?? {}, ''),
  ]
}

function listFieldPlaces(map: FieldMap, prefix: string): Place[] {
  return Object.entries(map).flatMap(([name, source]) => {
    if (name === '$comment' || source === undefined) return []
    if (isSource(source)) return [{ field: `${prefix}${name}`, source }]
    return listFieldPlaces(source, `${prefix}${name}.`)
  })
}

/** A place in plain words. */
export function describeSource(source: Place['source']): string {
  if (typeof source === 'string') return source
  if ('asked' in source) return `the ${source.asked} of the request`
  if ('length' in source) return source.map(describeSource).join(', else ')
  return source.join.map(describeSource).join(' and ')
}
