import { createRequire } from 'node:module'
import type { Ajv as AjvType, ErrorObject, ValidateFunction } from 'ajv'
import { InvalidSetting } from '../../settings/setting.ts'
import { readDefault } from '../vendor-settings.ts'
import type { AnswerMap } from './answer-map.ts'
import { listEvidenceProblems } from './evidence.ts'
import { TEXT_LISTS } from './rules.ts'
import {
  type Condition,
  OPERATIONS,
  type OperationName,
  VendorFile,
  type VendorOperation,
  type VendorRequest,
  type VendorRule,
  withoutComments,
} from './schema.ts'
import { listPlaceholders, VALUES } from './template.ts'

const require = createRequire(import.meta.url)

/** A file that can be used, or what is wrong with it: one sentence each, which begins with the place in the file. */
export type Checked =
  | { readonly file: VendorFile; readonly problems?: undefined }
  | { readonly problems: readonly string[] }

/** Checks the content of a vendor file: its shape first, then that its parts fit together. */
export function checkVendorFile(content: unknown): Checked {
  if (isDeeperThan(content, MAX_DEPTH))
    return { problems: [`the file is nested deeper than ${MAX_DEPTH} levels.`] }
  const problems = [...listShapeProblems(content)]
  if (problems.length > 0) return { problems }
  const file = withoutComments(content as VendorFile)
  problems.push(
    ...listRequestProblems(file),
    ...listRuleProblems(file),
    ...listAnswerProblems(file),
    ...listSettingProblems(file),
  )
  return problems.length > 0 ? { problems } : { file }
}

/** A body of a request may have any depth, and all of it is walked through. */
const MAX_DEPTH = 50

const isDeeperThan = (value: unknown, depth: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (depth === 0 || Object.values(value).some((inner) => isDeeperThan(inner, depth - 1)))

type Verbose = ErrorObject & { readonly parentSchema?: Readonly<Record<string, unknown>> }

let compiled: ValidateFunction | undefined

/** Compiled only where a file must be checked: it delays the start. */
function compileSchema(): ValidateFunction {
  const { Ajv } = require('ajv') as { Ajv: typeof AjvType }
  return new Ajv({ strict: false, allErrors: true, verbose: true, inlineRefs: false }).compile(VendorFile)
}

function listShapeProblems(content: unknown): string[] {
  compiled ??= compileSchema()
  const fits = compiled
  if (fits(content)) return []
  const errors = (fits.errors ?? []) as Verbose[]
  // Of alternatives, the sentence about all of them says more than one about each.
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf').map(({ schemaPath }) => schemaPath)
  return [
    ...new Set(
      errors
        .filter(
          ({ keyword, schemaPath }) =>
            keyword === 'anyOf' || !choices.some((choice) => schemaPath.startsWith(choice)),
        )
        .map(toShapeProblem),
    ),
  ]
}

const MAX_SHOWN = 60

function toShapeProblem({ keyword, instancePath, params, message, parentSchema }: Verbose): string {
  const place = instancePath === '' ? 'the file' : toPlace(instancePath)
  const expected = parentSchema?.['x-expected']
  if (keyword === 'additionalProperties') {
    const known = Object.keys((parentSchema?.properties ?? {}) as object).filter(
      (name) => !name.startsWith('$'),
    )
    const list = known.length > 0 ? ` Known here: ${known.join(', ')}.` : ''
    return `${place} has an unknown member, ${String(params.additionalProperty).slice(0, MAX_SHOWN)}.${list}`
  }
  if (keyword === 'required') return `${place} needs the member ${params.missingProperty}.`
  if (keyword === 'propertyNames')
    return `${place} has a member with the name ${String(params.propertyName).slice(0, MAX_SHOWN)}: names are small letters, digits and _.`
  if (keyword === 'enum') return `${place} must be one of ${(params.allowedValues as unknown[]).join(', ')}.`
  if (expected !== undefined) return `${place} must be ${expected}.`
  return `${place} ${message}.`
}

/** /rules/look_up/0/then as rules.look_up[0].then */
const toPlace = (pointer: string) =>
  pointer
    .slice(1)
    .split('/')
    .map((part) =>
      /^\d+$/.test(part) ? `[${part}]` : `.${part.replaceAll('~1', '/').replaceAll('~0', '~')}`,
    )
    .join('')
    .replace(/^\./, '')

/** The texts of a tree, with their places. */
function* listTexts(value: unknown, place: string): Generator<readonly [place: string, text: string]> {
  if (typeof value === 'string') yield [place, value]
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) yield* listTexts(item, `${place}[${index}]`)
  else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) {
      yield [`${place}.${name}`, name]
      yield* listTexts(inner, `${place}.${name}`)
    }
}

/** Every {value} must exist; `more` are those that exist in this place only. */
function* listUnknownValues(file: VendorFile, tree: unknown, place: string, more: readonly string[]) {
  const known = new Set([...Object.keys(VALUES), ...Object.keys(file.settings ?? {}), ...more])
  for (const [where, text] of listTexts(tree, place))
    for (const name of listPlaceholders(text))
      if (!known.has(name))
        yield `${where} has the value {${name}}, which is neither a setting of this file nor one of ${[...Object.keys(VALUES), ...more].join(', ')}.`
}

function* listRequestProblems(file: VendorFile): Generator<string> {
  const { authentication = {}, operations } = file
  const signed = authentication.hmac ? ['signature'] : []
  const described = OPERATIONS.filter((name) => operations[name])
  if (described.length === 0) yield 'operations needs one of nin, virtual_nin and bvn.'
  if (operations.virtual_nin && !operations.nin)
    yield 'operations.virtual_nin needs operations.nin beside it.'
  for (const name of described) {
    const place = `operations.${name}.request`
    const { request } = operations[name] as VendorOperation
    yield* listUnknownValues(file, request, place, signed)
    if (!isNumberSent(file, request)) yield `${place} never sends {number}.`
    if (request.method === 'GET' && request.body !== undefined) yield `${place}.body: a GET has none.`
    if (!/^(\/|\{)/.test(request.path)) yield `${place}.path must begin with / or with a setting.`
  }
  yield* listUnknownValues(file, authentication.headers, 'authentication.headers', signed)
  yield* listUnknownValues(file, authentication.hmac, 'authentication.hmac', [])
  if (authentication.hmac && ![...listTexts(file, '')].some(([, text]) => text.includes('{signature}')))
    yield 'authentication.hmac is never used: {signature} stands in no request.'
  yield* listHeaderProblems(file)
  yield* listTokenProblems(file)
}

/** Headers that belong to the connection. */
const OWN_HEADERS = [
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'accept-encoding',
]

/** A name may have letters that a header cannot have, and headers are written to logs. */
const isDetail = (name: string) => /^(first|last|full)_name$|^date_of_birth/.test(name)

function* listHeaderProblems({ authentication, operations }: VendorFile): Generator<string> {
  const places: [string, Readonly<Record<string, string>> | undefined][] = [
    ['authentication.headers', authentication?.headers],
    ['authentication.token.request.headers', authentication?.token?.request.headers],
    ...OPERATIONS.map((name): [string, Readonly<Record<string, string>> | undefined] => [
      `operations.${name}.request.headers`,
      operations[name]?.request.headers,
    ]),
  ]
  for (const [place, headers = {}] of places)
    for (const [name, text] of Object.entries(headers)) {
      if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) yield `${place}.${name} is not the name of a header.`
      if (OWN_HEADERS.includes(name.toLowerCase())) yield `${place}.${name} is set by the program.`
      if (listPlaceholders(text).some(isDetail))
        yield `${place}.${name} must not have a name or a date of a person: send it in the body.`
    }
}

const isNumberSent = ({ settings }: VendorFile, request: VendorRequest) =>
  [...listTexts(request, '')].some(([, text]) => text.includes('{number}')) ||
  listPlaceholders(request.path).some((name) => settings?.[name]?.type === 'path_with_number')

/** What is sent for a token, or with every request, is about no person, and made once for many calls. */
function* listTokenProblems(file: VendorFile): Generator<string> {
  const { basic, token } = file.authentication ?? {}
  for (const [place, part] of [
    ['authentication.basic', basic],
    ['authentication.token.basic', token?.basic],
    ['authentication.token.request', token?.request],
  ] as const) {
    yield* listUnknownValues(file, part, place, [])
    if (part && 'path' in part && !/^(\/|\{)/.test(part.path))
      yield `${place}.path must begin with / or with a setting.`
    for (const [where, text] of listTexts(part, place))
      if (listPlaceholders(text).some((name) => name in VALUES))
        yield `${where} must not contain a value of a person, a call or a time.`
  }
}

function* listRuleProblems(file: VendorFile): Generator<string> {
  const used = new Set(OPERATIONS.map((name) => file.answers[name]?.rules))
  for (const [name, rules] of Object.entries(file.rules)) {
    const place = `rules.${name}`
    if (!used.has(name)) yield `${place} is never used.`
    if (!rules.some((rule) => rule.then === 'found')) yield `${place} has no rule for found.`
    for (const [index, rule] of rules.entries()) yield* listProblemsOfRule(file, rule, `${place}[${index}]`)
  }
  const lists = new Set([...listTexts(file.rules, '')].map(([, text]) => text))
  for (const name of Object.keys(file.texts ?? {})) {
    if (name in TEXT_LISTS) yield `texts.${name} has the name of a list that every file has.`
    if (!lists.has(name)) yield `texts.${name} is never used.`
  }
}

function* listProblemsOfRule(file: VendorFile, rule: VendorRule, place: string): Generator<string> {
  const { if: condition } = rule
  if (Object.keys(condition).length === 0) yield `${place}.if must not be empty.`
  yield* listEvidenceProblems(file, rule, place)
  if ((rule.then === 'by_status') !== (rule.status_at !== undefined))
    yield `${place}: by_status and status_at go together.`
  for (const [index, { is, is_not }] of (condition.values ?? []).entries())
    if ((is === undefined) === (is_not === undefined))
      yield `${place}.if.values[${index}] needs one of is and is_not.`
  yield* listTextProblems(file, condition, place)
  const { values = [], present, any_present, absent, text } = condition
  const paths = { values: values.map(({ at }) => at), present, any_present, absent, text: text?.at }
  yield* listUnsafePaths(paths, `${place}.if`)
}

function* listTextProblems(file: VendorFile, { text }: Condition, place: string): Generator<string> {
  for (const name of [...(text?.says ?? []), ...(text?.unless ?? [])]) {
    const setting = /^\{(.*)\}$/.exec(name)?.[1]
    if (setting === undefined && !Object.hasOwn(TEXT_LISTS, name) && !Object.hasOwn(file.texts ?? {}, name))
      yield `${place}.if.text names ${name}, which is neither a list in texts nor one of ${Object.keys(TEXT_LISTS).join(', ')}.`
    if (setting !== undefined && setting !== 'not_found' && file.settings?.[setting]?.type !== 'pattern')
      yield `${place}.if.text names ${name}, which is neither {not_found} nor a setting of the type pattern.`
  }
}

function* listAnswerProblems(file: VendorFile): Generator<string> {
  yield* listUnsafePaths(file.error_text, 'error_text')
  for (const name of OPERATIONS) {
    const described = file.answers[name]
    const answer = described ?? (name === 'virtual_nin' ? file.answers.nin : undefined)
    if (file.operations[name] && !answer) yield `answers needs the member ${name}, for operations.${name}.`
    if (described && !file.operations[name]) yield `answers.${name} is never used.`
    if (described) yield* listProblemsOfAnswer(file, described, name)
    else if (answer && file.operations[name]) yield* listUnsent(file, answer, 'nin', name)
  }
}

function* listProblemsOfAnswer(file: VendorFile, answer: AnswerMap, name: OperationName): Generator<string> {
  const place = `answers.${name}`
  if (!Object.hasOwn(file.rules, answer.rules))
    yield `${place}.rules names ${answer.rules}, which is not in rules.`
  if (!answer.number) yield `${place} needs the member number: the answer must be about the person.`
  if (answer.second_phones && name !== 'bvn') yield `${place}.second_phones is for a BVN only.`
  if (!answer.fields && answer.same_fields !== true)
    yield `${place} needs the member fields, or "same_fields": true.`
  yield* listAskedProblems(file, answer, name)
  const isAsked = [...answer.phones, ...(answer.second_phones ?? [])].map(
    (phone) => typeof phone !== 'string',
  )
  if (new Set(isAsked).size > 1)
    yield `${place} must not take phones both from the answer and from the request: the latter always match.`
  yield* listUnsafePaths({ ...answer, rules: '' }, place)
}

/** Every object has these members, whatever a vendor answers. */
function* listUnsafePaths(tree: unknown, place: string): Generator<string> {
  for (const [where, text] of listTexts(tree, place))
    if (text.split('.').some((part) => part in Object.prototype))
      yield `${where} names ${text}, which is no member of an answer.`
}

/** The values of a request by which a vendor can compare a detail. */
const SENT_AS: Readonly<Record<string, readonly string[]>> = {
  phone: ['phone', 'phone_234'],
  first_name: ['first_name', 'full_name'],
  last_name: ['last_name', 'full_name'],
  date_of_birth: ['date_of_birth', 'date_of_birth_numeric', 'date_of_birth_short'],
}

/** What is taken from the request must have been compared by the vendor: it was sent, and the answer says that it matches. */
function* listAskedProblems(file: VendorFile, answer: AnswerMap, name: OperationName): Generator<string> {
  yield* listUnsent(file, answer, name, name)
  if ([...listAsked(answer, '')].length === 0) return
  const rules = Object.hasOwn(file.rules, answer.rules) ? file.rules[answer.rules] : undefined
  for (const [index, rule] of (rules ?? []).entries())
    if (rule.then === 'found' && !rule.if.values?.some(({ is }) => is !== undefined))
      yield `rules.${answer.rules}[${index}]: found must follow from a value that says that the details match, because answers.${name} takes them from the request.`
}

/** The answer to a virtual NIN may be described by that to a NIN, but its request is its own. */
function* listUnsent(
  file: VendorFile,
  answer: AnswerMap,
  name: OperationName,
  operation: OperationName,
): Generator<string> {
  const request = [...listTexts(file.operations[operation]?.request, '')].map(([, text]) => text)
  for (const [where, detail] of listAsked(answer, `answers.${name}`))
    if (!SENT_AS[detail]?.some((value) => request.some((text) => text.includes(`{${value}}`))))
      yield `${where} is the ${detail} of the request, which operations.${operation} never sends to the vendor.`
}

/** The places in which a value of the request stands. */
function* listAsked(part: unknown, place: string): Generator<readonly [place: string, detail: string]> {
  if (typeof part !== 'object' || part === null) return
  if ('asked' in part) yield [place, String(part.asked)]
  else
    for (const [name, inner] of Object.entries(part))
      yield* listAsked(inner, Array.isArray(part) ? `${place}[${name}]` : `${place}.${name}`)
}

/** Names that every vendor has. */
const RESERVED = [
  'url',
  'price',
  'daily_cap',
  'connections',
  'not_found',
  'nin_price',
  'bvn_price',
  'signature',
]

function* listSettingProblems(file: VendorFile): Generator<string> {
  const whole = JSON.stringify({ ...file, settings: undefined })
  for (const [name, entry] of Object.entries(file.settings ?? {})) {
    const place = `settings.${name}`
    if (RESERVED.includes(name) || name in VALUES) yield `${place}: every vendor has a value of this name.`
    yield* listDefaultProblems(entry, place)
    if (!whole.includes(`{${name}}`) && !whole.includes(`"setting":"${name}"`))
      yield `${place} is never used.`
  }
}

function* listDefaultProblems(
  { type, required, default: value }: NonNullable<VendorFile['settings']>[string],
  place: string,
): Generator<string> {
  if (required && value !== undefined) yield `${place} is required, so it has no default.`
  if (type === 'pattern' && value === undefined) yield `${place} needs a default.`
  const read = readDefault(type, value)
  if (read instanceof InvalidSetting) yield `${place}.default ${read.message}.`
}
