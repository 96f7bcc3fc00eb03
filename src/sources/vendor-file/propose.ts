import { toText } from '../record.ts'
import { createPhraseMatcher, NO_SUCH_PERSON, NUMBER_IN_TEXT, toErrorText } from '../reply.ts'
import { SHIPPED_VENDORS } from '../vendors.ts'
import { NOT_MAPPED } from './answer-map.ts'
import { listPlaces, type Place } from './describe.ts'
import type { OperationName, VendorRequest } from './schema.ts'

/** What is known about a vendor for which a file is begun. */
export type NewVendor = {
  readonly title: string
  readonly documentation: string
  readonly address: string
  readonly settings: Readonly<Record<string, object>>
  readonly authentication: object
  readonly requests: Readonly<Partial<Record<OperationName, VendorRequest>>>
  /** Saved answers: only the names of their members are used. */
  readonly answers: Readonly<Partial<Record<'nin' | 'bvn', unknown>>>
  /** A saved answer to a number that does not exist, and its status. */
  readonly missing?: { readonly status: number; readonly body: unknown } | undefined
}

type Part = Record<string, unknown>

/** A vendor file to be completed by hand, and what is left to do. */
export function proposeVendorFile(vendor: NewVendor, today: Date): { file: Part; left: string[] } {
  const left: string[] = []
  const kinds = (['nin', 'bvn'] as const).filter((kind) => vendor.requests[kind])
  const proposals = kinds.map((kind) => [kind, proposeAnswer(kind, vendor.answers[kind], left)] as const)
  const isShared = new Set(proposals.map(([, { found }]) => JSON.stringify(found))).size === 1
  const missing = proposeMissing(vendor.missing, left)
  const nameOf = (kind: string) => (isShared ? 'look_up' : `${kind}_look_up`)
  const file = {
    $schema: './vendor.schema.json',
    $comment: `Begun with "tabbat vendors new". ${left.length === 0 ? '' : 'To do: see the remarks.'}`.trim(),
    title: vendor.title,
    documentation: { url: vendor.documentation, read: today.toISOString().slice(0, 10) },
    address: vendor.address,
    ...(missing.errorText === undefined ? {} : { error_text: missing.errorText }),
    settings: vendor.settings,
    authentication: vendor.authentication,
    operations: Object.fromEntries(
      Object.entries(vendor.requests).map(([name, request]) => [name, { request }]),
    ),
    answers: Object.fromEntries(
      proposals.map(([kind, { answer }]) => [kind, { rules: nameOf(kind), ...answer }]),
    ),
    rules: Object.fromEntries(proposals.map(([kind, { found }]) => [nameOf(kind), [missing.rule, found]])),
    ...(missing.text === undefined ? {} : { texts: { unknown_number: [missing.text] } }),
  }
  return { file, left }
}

const toKey = (name: string) => name.toLowerCase().replace(/[^a-z0-9.]/g, '')

/** The fields of our API by the names that known vendors have for them. Members of other parts are named with their part. */
function listUsualNames(kind: 'nin' | 'bvn'): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const add = (source: Place['source'], field: string): void => {
    if (typeof source === 'string') {
      const key = toKey(source.replace(/^\$\./, ''))
      if (!names.has(key)) names.set(key, field)
    } else if ('length' in source) for (const each of source) add(each, field)
    else if ('join' in source) for (const each of source.join) add(each, field)
  }
  const number = kind === 'nin' ? 'nin_number' : 'bvn_number'
  for (const name of [kind, `${kind}_number`, 'id_number', 'number']) add(name, number)
  for (const name of ['phone', 'phone_number', 'telephone', 'mobile', 'mobile_number', 'msisdn'])
    add(name, 'personal_info.phone_number')
  for (const part of ['first_name', 'middle_name', 'last_name', 'gender', 'date_of_birth'])
    add(part, `personal_info.${part}`)
  for (const [name, field] of [
    ['given_name', 'first_name'],
    ['given_names', 'first_name'],
    ['family_name', 'last_name'],
    ['surname', 'last_name'],
    ['sex', 'gender'],
    ['dob', 'date_of_birth'],
  ])
    add(name as string, `personal_info.${field}`)
  for (const { loaded } of SHIPPED_VENDORS.values()) {
    const map = loaded?.file.answers[kind]
    if (map) for (const { field, source } of listPlaces(kind, map)) add(source, field)
  }
  return names
}

/** The objects of an answer, the outermost first. */
function listObjects(value: unknown, path = '$'): (readonly [path: string, part: Part])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return [
    [path, value as Part],
    ...Object.entries(value).flatMap(([name, inner]) =>
      listObjects(inner, path === '$' ? name : `${path}.${name}`),
    ),
  ]
}

const isScalar = (value: unknown) => typeof value !== 'object' || value === null

/** The object with the most members of usual names. */
function findRecord(
  sample: unknown,
  names: ReadonlyMap<string, string>,
): readonly [place: string, record: Part] {
  const score = (part: Part) =>
    Object.entries(part).filter(([name, value]) => isScalar(value) && names.has(toKey(name))).length
  const [best] = listObjects(sample).toSorted(([, one], [, other]) => score(other) - score(one))
  return best && score(best[1]) > 0 ? best : ['data', {}]
}

/** The fields of our API, and the members of the record that have a usual name for them. */
function findFields(record: Part, names: ReadonlyMap<string, string>): Map<string, string[]> {
  const placesOf = new Map<string, string[]>()
  const scalars = listObjects(record).flatMap(([path, part]) =>
    Object.keys(part)
      .filter((name) => isScalar(part[name]))
      .map((name) => (path === '$' ? name : `${path}.${name}`)),
  )
  for (const path of scalars) {
    const field = names.get(toKey(path))
    if (field !== undefined) placesOf.set(field, [...(placesOf.get(field) ?? []), path])
  }
  return placesOf
}

/** The answer map, and the rule for a record. */
function proposeAnswer(kind: 'nin' | 'bvn', sample: unknown, left: string[]) {
  const names = listUsualNames(kind)
  const [place, record] = findRecord(sample, names)
  const placesOf = findFields(record, names)
  const isGuess = placesOf.size === 0
  if (isGuess)
    left.push(`answers.${kind}: the paths are guesses, because no saved answer says where the fields are.`)
  const take = (field: string, guess: string) => {
    const found = placesOf.get(field)
    placesOf.delete(field)
    if (!found && !isGuess) left.push(`answers.${kind}: ${guess} is a guess for ${field}.`)
    return found ?? [guess]
  }
  const number = take(kind === 'nin' ? 'nin_number' : 'bvn_number', kind)
  const phones = take('personal_info.phone_number', 'phone')
  const second = kind === 'bvn' ? placesOf.get('personal_info.phone_number_2') : undefined
  const [reference] = placesOf.get('reference') ?? []
  if (isGuess) for (const name of ['first_name', 'last_name']) placesOf.set(`personal_info.${name}`, [name])
  const answer = {
    $comment: isGuess
      ? 'Guesses: write the paths of the vendor’s documents.'
      : 'Proposed from a saved answer: compare it with the vendor’s documents.',
    record: [place],
    number: { at: number },
    phones,
    ...(second && { second_phones: second }),
    ...(reference !== undefined && { reference }),
    fields: toFields(placesOf),
  }
  return { answer, found: toFoundRule(sample, place, number[0] as string) }
}

function toFields(placesOf: ReadonlyMap<string, readonly string[]>): Part {
  const fields: Part = {}
  for (const [field, paths] of placesOf) {
    const [group = '', name] = field.split('.')
    if (NOT_MAPPED.includes(name ?? group) || !FIELD.test(field) || NOT_FIELDS.includes(field)) continue
    const source = paths.length === 1 ? paths[0] : paths
    if (name === undefined) fields[group] = source
    else fields[group] = { ...(fields[group] as Part | undefined), [name]: source }
  }
  return fields
}

const FIELD = /^[a-z_]+(\.[a-z_]+)?$/
const NOT_FIELDS = ['reference', 'price']

/** Members of an answer that say that it is a success, with the values by which they do. */
const SUCCESS_NAMES = ['success', 'status', 'successful', 'requestsuccessful', 'state', 'responsecode']
const SUCCESS = /^(true|success(ful)?|ok|found|verified|completed?|00)$/i

function toFoundRule(sample: unknown, place: string, number: string) {
  const top = Object.entries((isScalar(sample) ? {} : sample) as Part)
  const values = top
    .filter(
      ([name, value]) => SUCCESS_NAMES.includes(toKey(name)) && SUCCESS.test(toText(value) || String(value)),
    )
    .map(([at, value]) => ({ at, is: [value] }))
  const condition = {
    status: [200],
    ...(values.length > 0 && { values }),
    present: [place === '$' ? number : place],
  }
  return toRule('record', 'By what else does the vendor say that it found the person?', condition, 'found')
}

/** An object literal with `then` could be taken for a promise. */
const toRule = (name: string, remark: string, condition: object, outcome: string): Part =>
  Object.fromEntries([
    ['name', name],
    ['$comment', remark],
    ['if', condition],
    ['then', outcome],
  ])

const isKnownText = createPhraseMatcher(NO_SUCH_PERSON)

type MissingProposal = { readonly rule: Part; readonly text?: string; readonly errorText?: string }

/** The rule for a number that does not exist. The text of the saved answer is taken over if it has no other number in it. */
function proposeMissing(missing: NewVendor['missing'], left: string[]): MissingProposal {
  const says = ['no_such_person', '{not_found}']
  const build = (status: readonly number[], more: readonly string[] = []) =>
    toRule(
      'no such person',
      'Only complete texts of the vendor count.',
      { status, text: { says: [...says, ...more] } },
      'not_found',
    )
  const { text, at } = findErrorText(missing?.body)
  const phrase = text.replace(NUMBER_IN_TEXT, '{number}')
  if (!missing || phrase === '' || /\d{4}/.test(phrase)) {
    left.push(
      'rules: by which text does the vendor say that there is no such person? Add it to texts, and name that list in the rule. Until then such an answer is a failure, unless it is a usual text.',
    )
    return { rule: build(missing ? [missing.status] : [404, 400, 200]) }
  }
  const errorText = at === undefined ? {} : { errorText: at }
  if (isKnownText(phrase)) return { rule: build([missing.status]), ...errorText }
  return { rule: build([missing.status], ['unknown_number']), text: phrase, ...errorText }
}

/** The text of an error, and its place if it is not one of the usual ones. */
function findErrorText(body: unknown): { text: string; at?: string } {
  const usual = toErrorText(body)
  if (usual !== '') return { text: usual }
  for (const [path, part] of listObjects(body))
    for (const [name, value] of Object.entries(part))
      if (typeof value === 'string' && /\w+ \w+/.test(value))
        return { text: value, at: path === '$' ? name : `${path}.${name}` }
  return { text: '' }
}
