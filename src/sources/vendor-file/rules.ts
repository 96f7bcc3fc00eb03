import { toFields, toText } from '../record.ts'
import {
  createPhraseMatcher,
  isFormatComplaint,
  isFundsText,
  isTemporary,
  NO_SUCH_PERSON,
  PHONE_DIFFERS,
  statusError,
  toErrorText,
} from '../reply.ts'
import { type HttpReply, SourceError, type SourceFailure } from '../source.ts'
import type { SourceProblem } from '../source-problem.ts'
import type { Condition, OutcomeName, VendorFile, VendorRule } from './schema.ts'
import type { Question, SettingValues } from './template.ts'

type Getter = (body: unknown) => unknown

/** The value at a path of names separated by dots. A missing part is undefined. */
export function compilePath(path: string): Getter {
  const [first = '', second, ...rest] = path.split('.')
  if (second === undefined) return (body) => toFields(body)[first]
  if (rest.length === 0) return (body) => toFields(toFields(body)[first])[second]
  const names = [first, second, ...rest]
  return (body) => names.reduce((part, name) => toFields(part)[name], body)
}

const isThere = (value: unknown) => value !== undefined && value !== null

type Holds = (reply: HttpReply, question: Question) => boolean
type Says = (text: string) => boolean

/** What rules refer to. */
type RuleParts = {
  readonly texts: VendorFile['texts']
  readonly settings: SettingValues
  readonly toErrorText: ToErrorText
}

type ToErrorText = (body: unknown) => string

/** The text of an error, from its place in the answers of this vendor, or from the usual ones: a proxy has its own. */
export function compileErrorText({ error_text }: VendorFile): ToErrorText {
  if (error_text === undefined) return toErrorText
  const get = compilePath(error_text)
  return (body) => toText(get(body)) || toErrorText(body)
}

/** The lists that every file may use, besides its own. */
export const TEXT_LISTS: Readonly<Record<string, Says>> = {
  no_such_person: createPhraseMatcher(NO_SUCH_PERSON),
  phone_differs: createPhraseMatcher(PHONE_DIFFERS),
  temporary: isTemporary,
  funds: isFundsText,
  format: isFormatComplaint,
}

/** The rule that decides; undefined if the HTTP status does. */
export function compileRules(
  rules: readonly VendorRule[],
  parts: RuleParts,
): (reply: HttpReply, question: Question) => VendorRule | undefined {
  const compiled = rules.map((rule) => [compileCondition(rule.if, parts), rule] as const)
  return (reply, question) => compiled.find(([holds]) => holds(reply, question))?.[1]
}

function compileCondition(condition: Condition, parts: RuleParts): Holds {
  const { status, values = [], text, present = [], any_present, absent = [], names_sent } = condition
  const checks: Holds[] = []
  if (status) checks.push((reply) => status.includes(reply.status))
  for (const { at, is, is_not } of values) {
    const get = compilePath(at)
    if (is) checks.push(({ body }) => isOneOf(get(body), is))
    if (is_not) checks.push(({ body }) => get(body) !== undefined && !isOneOf(get(body), is_not))
  }
  for (const path of present) {
    const get = compilePath(path)
    checks.push(({ body }) => isThere(get(body)))
  }
  for (const path of absent) {
    const get = compilePath(path)
    checks.push(({ body }) => !isThere(get(body)))
  }
  if (any_present) {
    const getters = any_present.map(compilePath)
    checks.push(({ body }) => getters.some((get) => hasContent(get(body))))
  }
  if (names_sent !== undefined)
    checks.push((_reply, { details }) => (details?.first_name !== undefined) === names_sent)
  if (text) checks.push(compileTextCheck(text, parts))
  return (reply, question) => checks.every((check) => check(reply, question))
}

const hasContent = (value: unknown) =>
  typeof value === 'object' ? Object.keys(toFields(value)).length > 0 : toText(value) !== ''

function compileTextCheck(
  { at, says, unless = [] }: NonNullable<Condition['text']>,
  parts: RuleParts,
): Holds {
  const getText = at === undefined ? parts.toErrorText : (body: unknown) => toText(compilePath(at)(body))
  const wanted = says.map((name) => toMatcher(name, parts))
  const refused = unless.map((name) => toMatcher(name, parts))
  return ({ body }) => {
    const text = getText(body)
    return text !== '' && wanted.some((is) => is(text)) && !refused.some((is) => is(text))
  }
}

function toMatcher(name: string, { texts, settings }: RuleParts): Says {
  if (!name.startsWith('{')) return TEXT_LISTS[name] ?? createPhraseMatcher(texts?.[name])
  const value = settings[name.slice(1, -1)]
  return value instanceof RegExp
    ? (text) => value.test(text)
    : createPhraseMatcher(value as readonly string[] | undefined)
}

/** A number may be written as a text. */
function isOneOf(value: unknown, wanted: readonly unknown[]): boolean {
  if (typeof value === 'boolean') return wanted.includes(value)
  if (typeof value !== 'string' && typeof value !== 'number') return false
  const text = toText(value)
  return wanted.some((each) => typeof each !== 'boolean' && String(each) === text)
}

const FAILURES: Readonly<Partial<Record<OutcomeName, readonly [SourceFailure, SourceProblem]>>> = {
  refused: ['refused', 'credentials'],
  no_funds: ['refused', 'funds'],
  throttled: ['throttled', 'too_many'],
  repeated: ['refused', 'repeated_call'],
  malformed_request: ['bad_response', 'rejected'],
  failure: ['unreachable', 'vendor_down'],
  contradiction: ['bad_response', 'contradictory'],
}

/** The error of a reply that is no answer. */
export function ruleError(
  source: string,
  rule: VendorRule | undefined,
  { status, body }: HttpReply,
  text: string,
): SourceError {
  if (!rule) return statusError(source, status, text)
  if (rule.then === 'by_status') {
    const inside = Number(toText(compilePath(rule.status_at ?? '')(body)) || Number.NaN)
    return statusError(source, inside, text)
  }
  const [reason, problem] = FAILURES[rule.then] ?? ['bad_response', 'unknown_shape']
  return new SourceError(source, reason, { problem })
}
