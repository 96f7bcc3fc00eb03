import { isDeepStrictEqual } from 'node:util'
import { isVirtualNin, type PersonDetails } from '../contract/person.ts'
import { readDay, toIsoDay } from '../contract/time.ts'
import { readSettings } from '../settings/read-settings.ts'
import type { HttpRequest } from '../sources/source.ts'
import type { AnswerMap } from '../sources/vendor-file/answer-map.ts'
import { compileErrorText, compileRules } from '../sources/vendor-file/rules.ts'
import { toSampleReply } from '../sources/vendor-file/sample-reply.ts'
import {
  OPERATIONS,
  type OperationName,
  OUTCOMES,
  type OutcomeName,
  type VendorRequest as RequestTemplate,
  type VendorFile,
} from '../sources/vendor-file/schema.ts'
import {
  compileRequest,
  listPlaceholders,
  NO_QUESTION,
  type Question,
  type SettingValues,
} from '../sources/vendor-file/template.ts'
import { toFileSettings } from '../sources/vendor-settings.ts'
import type { Fault } from './faults.ts'
import { CANARY } from './faults.ts'
import { isUnknown, toOtherNumber, toPhoneCoreOf } from './people.ts'
import type { VendorReply, VendorRequest, VendorScript } from './stand-in.ts'

const TOKEN = 'simulated-token'

type FileVendorOptions = {
  /** Called with the reason when a request is not as the file says. It contains no values of the request. */
  readonly onRefusal?: (reason: string) => void
}

/**
 * A vendor that answers as its file says. It is for trying a file: it follows from the file alone, so it proves nothing about the
 * real vendor.
 */
export function createFileVendor(
  name: string,
  file: VendorFile,
  { onRefusal = () => {} }: FileVendorOptions = {},
): VendorScript {
  const given = toSimulatedSettings(name, file)
  const settings = readSettings(
    toFileSettings(name, file),
    { ...given, [`${toPrefix(name)}_URL`]: 'http://x' },
    [],
  )
  const sample = createSample(file, settings)
  const [first = 'nin'] = OPERATIONS.filter((each) => file.operations[each])
  const token = file.authentication?.token
  const tokenRequest =
    token && compileRequest(token.request, settings, token.basic ? { basic: token.basic } : {})
  const tokenPath = tokenRequest?.(NO_QUESTION).path
  const match = createMatcher(file, settings)
  const refuse = (status: number, message: string): VendorReply => ({ status, body: { message } })
  const answerToken = (request: VendorRequest): VendorReply => {
    const wrong = tokenRequest && findDifference(tokenRequest(NO_QUESTION), request)
    if (wrong) onRefusal(`the request for a token: ${wrong}`)
    return wrong || !token ? refuse(401, 'Unauthorized') : toTokenReply(token)
  }
  return {
    name,
    settings: (url) => ({ [`${toPrefix(name)}_URL`]: url, ...given }),
    phoneFields: listPhoneFields(file),
    refuse,
    ...(tokenPath !== undefined && { tokenPath }),
    replies: toReplies(sample, first),
    answer: (request, fault) => {
      if (token && request.path === tokenPath) return answerToken(request)
      const { operation, question, reason } = match(request)
      if (operation && question && reason === undefined)
        return toReply(file, sample, operation, question, fault)
      onRefusal(reason ?? 'no request of the file has this method and path')
      if (!operation) return refuse(404, 'Endpoint not found')
      return reason?.startsWith('the header')
        ? refuse(401, 'Unauthorized')
        : refuse(400, 'The request is invalid')
    },
  }
}

const toPrefix = (name: string) => `TABBAT_${name.toUpperCase()}`

/** Values for the settings without which the vendor cannot be used. */
function toSimulatedSettings(name: string, { settings = {} }: VendorFile): Record<string, string> {
  const needed = Object.entries(settings).filter(([, { required }]) => required)
  const toValue = (key: string, type = 'credential') => {
    const word = `simulated-${key.replaceAll('_', '-')}`
    if (type === 'switch') return 'on'
    return type === 'path' ? `/${word}` : type === 'path_with_number' ? `/${word}/{number}` : word
  }
  return Object.fromEntries(
    needed.map(([key, { type }]) => [`${toPrefix(name)}_${key.toUpperCase()}`, toValue(key, type)]),
  )
}

const mapOf = (file: VendorFile, operation: OperationName) =>
  (file.answers[operation] ?? file.answers.nin) as AnswerMap

const listPhoneFields = ({ answers }: VendorFile): string[] =>
  OPERATIONS.flatMap((operation) => {
    const { phones = [], second_phones: second = [] } = answers[operation] ?? {}
    const paths = [...phones, ...second].filter((place) => typeof place === 'string')
    return paths.map((path) => path.split('.').at(-1) as string)
  })

function toTokenReply({ token_at, lifetime_at }: { token_at: string; lifetime_at?: string }): VendorReply {
  const body = {}
  put(body, token_at, TOKEN)
  if (lifetime_at !== undefined) put(body, lifetime_at, 3600)
  return { status: 200, body }
}

function put(body: Record<string, unknown>, path: string, value: unknown): void {
  const [name = '', ...rest] = path.split('.')
  if (rest.length === 0) body[name] = value
  else {
    body[name] ??= {}
    put(body[name] as Record<string, unknown>, rest.join('.'), value)
  }
}

type Sample = (
  operation: OperationName,
  outcome: OutcomeName,
  question: Question,
  from?: VendorFile,
) => VendorReply | undefined

/** A reply that the rules read as this outcome. A rule for texts of the operator has none, and one before it may read it otherwise. */
function createSample(file: VendorFile, settings: SettingValues): Sample {
  const parts = { texts: file.texts, settings, toErrorText: compileErrorText(file) }
  return (operation, outcome, question, from = file) => {
    const { rules: name } = mapOf(file, operation)
    const rules = file.rules[name] ?? []
    const toRule = compileRules(rules, parts)
    const person = { number: question.number, phoneCore: toPhoneCoreOf(question.number) }
    return rules
      .filter((rule) => rule.then === outcome)
      .map((rule) => toSampleReply({ ...from, rules: { [name]: [rule] } }, operation, outcome, person))
      .find((reply) => reply && toRule(reply, question)?.then === outcome)
  }
}

/** A rule may depend on whether the request had names. */
const QUESTIONS = [undefined, { first_name: 'Ada', last_name: 'Obi' }].map((details) => ({
  ...NO_QUESTION,
  number: '10000000000',
  details,
}))

/** The replies that the control can choose by name, such as says_throttled. */
function toReplies(sample: Sample, operation: OperationName) {
  return Object.fromEntries(
    OUTCOMES.filter((outcome) => outcome !== 'found').flatMap((outcome) => {
      const reply = QUESTIONS.map((question) => sample(operation, outcome, question)).find((each) => each)
      return reply ? [[`says_${outcome}`, reply]] : []
    }),
  )
}

function toReply(
  file: VendorFile,
  sample: Sample,
  operation: OperationName,
  question: Question,
  fault: Fault | undefined,
): VendorReply {
  const { number, phone } = question
  const say = (outcome: OutcomeName, status: number, message: string): VendorReply =>
    sample(operation, outcome, question) ?? { status, body: { message } }
  const find = (about: Question, from = file): VendorReply =>
    sample(operation, 'found', about, from) ?? { status: 500, body: { message: 'No rule for a record' } }
  if (fault === 'unauthorised') return say('refused', 401, 'Unauthorized')
  if (fault === 'no_funds') return say('no_funds', 402, 'Insufficient balance')
  if (fault === 'error_in_200') return { status: 200, body: { message: 'Unable to reach service' } }
  if (isUnknown(number)) return say('not_found', 404, 'Record not found')
  const map = mapOf(file, operation)
  const comparesPhone = map.phones.every((place) => typeof place !== 'string')
  if (comparesPhone && phone !== toPhoneCoreOf(number))
    return say('not_found', 404, 'Phone number does not match')
  if (fault === 'wrong_person') return find({ ...question, number: toOtherNumber(number) })
  if (fault === 'missing_fields') return find(question, withFewFields(file, operation, map))
  const reply = find(question)
  if (fault === 'contradictory') return { ...reply, body: { ...(reply.body as object), error: CANARY } }
  if (fault !== 'watchlisted' || operation !== 'bvn') return reply
  const listed = { ...reply, body: { ...(reply.body as object), watch_listed: 'YES' } }
  return sample(operation, 'watch_listed', question) ?? listed
}

/** The file with the first name alone. */
function withFewFields(file: VendorFile, operation: OperationName, map: AnswerMap): VendorFile {
  const info = map.fields?.personal_info as Readonly<Record<string, never>> | undefined
  if (!info?.first_name) return file
  const answer = { ...map, fields: { personal_info: { first_name: info.first_name } } }
  return { ...file, answers: { ...file.answers, [operation]: answer } }
}

type Matched = {
  /** Undefined if no request of the file has this method and path. */
  readonly operation?: OperationName
  readonly question?: Question
  /** How the request differs from the file. */
  readonly reason?: string | undefined
}

/** Finds the request of the file that was sent: its values are read, and what the file would send with them is compared. */
function createMatcher(file: VendorFile, settings: SettingValues) {
  const { authentication } = file
  const described = OPERATIONS.flatMap((operation) => {
    const template = file.operations[operation]?.request
    return template
      ? [{ operation, template, build: compileRequest(template, settings, authentication) }]
      : []
  })
  const token = authentication?.token
  const more = token ? { [token.header ?? 'authorization']: `${token.prefix ?? 'Bearer '}${TOKEN}` } : {}
  const compare = (
    operation: OperationName,
    question: Question,
    expected: HttpRequest,
    received: VendorRequest,
  ) => {
    if (question.number === '') return 'the number is missing'
    const headers = { ...expected.headers, ...more }
    const isOther = isVirtualNin(question.number) !== (operation === 'virtual_nin')
    return (
      findDifference({ ...expected, headers }, received) ??
      (isOther ? `no number for ${operation}` : undefined)
    )
  }
  return (received: VendorRequest): Matched => {
    const matched = described.flatMap(({ operation, template, build }): Matched[] => {
      const values = received.method === template.method && readValues(template, received, settings)
      if (!values) return []
      const question = toQuestion(values)
      return [{ operation, question, reason: compare(operation, question, build(question), received) }]
    })
    return matched.find(({ reason }) => reason === undefined) ?? matched[0] ?? {}
  }
}

type Values = Record<string, unknown>

/** The values that a request was made with; undefined if its path is another. */
function readValues(
  template: RequestTemplate,
  received: VendorRequest,
  settings: SettingValues,
): Values | undefined {
  const values: Values = {}
  if (!readText(template.path, decode(received.path), settings, values)) return undefined
  const read = (tree: unknown, actual: unknown): void => {
    if (typeof tree === 'string') readText(tree, actual, settings, values)
    else if (typeof tree === 'object' && tree !== null)
      for (const [name, inner] of Object.entries(tree))
        read(inner, (actual as Values | undefined)?.[expand(name, settings)])
  }
  read(template.query ?? {}, Object.fromEntries(received.query))
  const headers = Object.entries(template.headers ?? {}).map(([name, text]) => [name.toLowerCase(), text])
  read(Object.fromEntries(headers), received.headers)
  read(template.body, received.body)
  return values
}

const decode = (path: string) => {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** The text with the settings that it names. */
const expand = (text: string, settings: SettingValues) =>
  text.replace(/\{([a-z][a-z0-9_]*)\}/g, (whole, name: string) =>
    typeof settings[name] === 'string' ? settings[name] : whole,
  )

/** Adds the values in a text to `values`. False if the text is another. */
function readText(template: string, actual: unknown, settings: SettingValues, values: Values): boolean {
  if (actual === undefined) return false
  const expanded = expand(template, settings)
  const names = listPlaceholders(expanded)
  const literals = expanded.split(/\{[a-z][a-z0-9_]*\}/).map((text) => RegExp.escape(text))
  const found = new RegExp(`^${literals.join('(.*?)')}$`, 's').exec(String(actual))
  for (const [index, name] of names.entries()) if (found) values[name] = found[index + 1]
  return found !== null
}

/** What the file would send these values for. */
function toQuestion(values: Values): Question {
  const text = (name: string) => (values[name] === undefined ? undefined : String(values[name]))
  const [first, ...last] = text('full_name')?.split(' ') ?? []
  const born = text('date_of_birth') ?? text('date_of_birth_numeric') ?? text('date_of_birth_short')
  const day = born === undefined ? undefined : readDay(born)
  const details: PersonDetails = {
    first_name: text('first_name') ?? first,
    last_name: text('last_name') ?? (first === undefined ? undefined : last.join(' ')),
    date_of_birth: day ? toIsoDay(day) : undefined,
  }
  return {
    number: text('number') ?? '',
    phone: text('phone')?.slice(1) ?? text('phone_234')?.slice(3) ?? '',
    reference: text('reference') ?? '',
    callId: text('call_id') ?? '',
    details,
    at: new Date(text('time') ?? Number(text('time_ms') ?? 0)),
  }
}

/** Names the part that differs, without its value. */
function findDifference(expected: HttpRequest, received: VendorRequest): string | undefined {
  if (expected.method !== received.method) return 'the method is another'
  for (const [name, value] of Object.entries(expected.headers ?? {}))
    if (received.headers[name.toLowerCase()] !== value) return `the header ${name} is missing or another`
  for (const [name, value] of Object.entries(expected.query ?? {}))
    if (received.query.get(name) !== value) return `${name} in the query is missing or another`
  const body = expected.body === undefined ? undefined : JSON.parse(JSON.stringify(expected.body))
  return isDeepStrictEqual(body, received.body) ? undefined : 'the body is another'
}
