import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import { toPhoneCore } from '../../contract/person.ts'
import { createBlankRecord, splitPhones } from '../../contract/record.ts'
import { refuseOtherNumber, requireUsable } from '../open-vendor.ts'
import { firstGiven, isAbsent, toText } from '../record.ts'
import { TEXT_FIELDS } from '../reply.ts'
import { type HttpReply, SourceError } from '../source.ts'
import type { SourceProblem } from '../source-problem.ts'
import { type AnswerMap, NOT_MAPPED } from './answer-map.ts'
import { compileOperation } from './create-source.ts'
import { describePart, listParts, listPlaces, type Place } from './describe.ts'
import { compileErrorText, compilePath, compileRules } from './rules.ts'
import { DECOY } from './sample-reply.ts'
import type { OperationName, VendorFile, VendorRule } from './schema.ts'
import type { Question, SettingValues } from './template.ts'

export type TryOptions = {
  readonly operation: OperationName
  readonly settings: SettingValues
  /** Those of the record, where they are not given. The phone is a ten-digit core. */
  readonly number?: string | undefined
  readonly phone?: string | undefined
  /** The request had a first and a last name. */
  readonly hasNames?: boolean | undefined
}

type TriedRule = {
  readonly rule: VendorRule
  readonly holds: boolean
  readonly parts: readonly { readonly text: string; readonly holds: boolean }[]
}

/** A rule of the program that every answer with a record must keep. Null: not looked at, because one before it failed. */
type Check = { readonly text: string; readonly holds: boolean | null }

/** A part of the answer, and what it was used for. */
type Use = { readonly path: string; readonly for: string }

export type Trial = {
  /** The rules of the file up to the one that holds. */
  readonly tried: readonly TriedRule[]
  /** Undefined if the HTTP status decides. */
  readonly rule: VendorRule | undefined
  /** The answer cannot be used. */
  readonly problem: SourceProblem | undefined
  /** As the caller would get it; as far as it was read, if there is a problem. */
  readonly record: NinRecord | BvnRecord | undefined
  readonly checks: readonly Check[]
  readonly asked: Pick<Question, 'number' | 'phone'>
  readonly uses: readonly Use[]
  readonly unused: readonly string[]
}

/** What an answer of a vendor means by its file, and why. Nothing is sent. */
export function tryAnswer(name: string, file: VendorFile, reply: HttpReply, options: TryOptions): Trial {
  const { operation, settings } = options
  const map = mapOf(file, operation)
  const rules = file.rules[map.rules] ?? []
  const { read } = compileOperation(name, file, settings, operation)
  const ask = (asked: Trial['asked']): Question => ({
    ...asked,
    reference: 'ver_try',
    callId: 'try',
    at: new Date(),
    ...(options.hasNames && { details: NAMES }),
  })
  const readRecord = (question: Question) => {
    const { answer } = read(reply, question)
    if (answer.found) return answer
    // Without a given number, any number in the answer may be the requested one.
    if (options.number !== undefined) refuseOtherNumber(name, question, reply.body)
    return undefined
  }
  const first = ask({ number: options.number ?? DECOY.number, phone: options.phone ?? DECOY.phoneCore })
  const tried = tryRules(rules, file, settings, reply, first)
  const last = tried.at(-1)
  const rule = last?.holds ? last.rule : undefined
  const { value: plain, problem } = attempt(() => readRecord(first))
  const asked = plain ? completeAsked(options, plain.record) : first
  const found = plain && readRecord(ask(asked))
  const checked = found && attempt(() => requireUsable(name, asked, found, reply.body))
  return {
    tried,
    rule,
    problem: problem ?? checked?.problem,
    record: checked?.value?.record ?? found?.record,
    checks: found ? toChecks(checked?.problem) : [],
    asked: { number: asked.number, phone: asked.phone },
    ...listUses(operation, map, tried, reply.body, found !== undefined, file.error_text),
  }
}

const NAMES = { first_name: 'Ada', last_name: 'Obi' }

const mapOf = (file: VendorFile, operation: OperationName): AnswerMap =>
  (file.answers[operation] ?? file.answers.nin) as AnswerMap

/** An unexpected error counts as it does when a vendor is called. */
function attempt<T>(work: () => T): { readonly value?: T; readonly problem?: SourceProblem | undefined } {
  try {
    return { value: work() }
  } catch (error) {
    return { problem: (error instanceof SourceError && error.problem) || 'unknown_shape' }
  }
}

/** The number and a phone of the record stand for those that were not given. */
function completeAsked({ number, phone }: TryOptions, record: NinRecord | BvnRecord): Trial['asked'] {
  const info = record.personal_info
  const phones = [
    ...splitPhones(info.phone_number),
    ...splitPhones(('phone_number_2' in info && info.phone_number_2) || ''),
  ]
  const own = 'nin_number' in record ? record.nin_number : record.bvn_number
  return {
    number: number ?? (own || DECOY.number),
    phone: phone ?? phones.map(toPhoneCore).find((core) => core !== undefined) ?? DECOY.phoneCore,
  }
}

function tryRules(
  rules: readonly VendorRule[],
  file: VendorFile,
  settings: SettingValues,
  reply: HttpReply,
  question: Question,
): TriedRule[] {
  const ruleParts = { texts: file.texts, settings, toErrorText: compileErrorText(file) }
  const holds = (condition: VendorRule['if'], rule: VendorRule) =>
    compileRules([{ ...rule, if: condition }], ruleParts)(reply, question) !== undefined
  const tried: TriedRule[] = []
  for (const rule of rules) {
    const parts = listParts(rule.if).map((part) => ({ text: describePart(part), holds: holds(part, rule) }))
    tried.push({ rule, holds: holds(rule.if, rule), parts })
    if (tried.at(-1)?.holds) break
  }
  return tried
}

/** In the order in which they are looked at, each with the problems by which it fails. */
const CHECKS: readonly (readonly [text: string, problems: readonly SourceProblem[]])[] = [
  ['the answer reports no failure beside the record', ['contradictory']],
  ['the record is about the number of the request', ['wrong_person']],
  ['the record has a name', ['unknown_shape']],
  ['the record has phones that can be compared', ['no_phone', 'unreadable_phone', 'mixed_phones']],
]

function toChecks(problem: SourceProblem | undefined): Check[] {
  const failed = CHECKS.findIndex(([, problems]) => problem && problems.includes(problem))
  return CHECKS.map(([text], index) => ({
    text,
    holds: failed === -1 || index < failed ? true : index === failed ? false : null,
  }))
}

const getAt = (body: unknown, path: string) => compilePath(path)(body)
const isGiven = (value: unknown) => firstGiven(value) !== undefined

/** Which parts of the answer the file uses, and what for. */
function listUses(
  operation: OperationName,
  map: AnswerMap,
  tried: readonly TriedRule[],
  body: unknown,
  hasRecord: boolean,
  errorText: string | undefined,
): Pick<Trial, 'uses' | 'unused'> {
  const leaves = listLeaves(body, '')
  const uses = [
    ...tried.flatMap(({ rule }) =>
      listRulePaths(rule, body, errorText).map((path) => ({ path, for: `the rule “${rule.name}”` })),
    ),
    ...(hasRecord ? listRecordUses(operation, map, body, leaves) : []),
  ]
  const isUsed = (leaf: string) =>
    uses.some(
      ({ path }) => leaf === path || (leaf.startsWith(`${path}.`) && Array.isArray(getAt(body, path))),
    )
  const there = uses.filter(({ path }) => leaves.some((leaf) => leaf === path || leaf.startsWith(`${path}.`)))
  return { uses: there, unused: leaves.filter((leaf) => !isUsed(leaf)) }
}

function listRulePaths(
  { if: condition, status_at }: VendorRule,
  body: unknown,
  errorText: string | undefined,
): string[] {
  const { values = [], text, present = [], any_present = [], absent = [] } = condition
  const places = errorText === undefined ? TEXT_FIELDS : [errorText, ...TEXT_FIELDS]
  const error = places.find((name) => toText(getAt(body, name)) !== '')
  return [
    ...values.map(({ at }) => at),
    ...present,
    ...any_present,
    ...absent,
    ...(text ? [text.at ?? error ?? ''] : []),
    ...(status_at === undefined ? [] : [status_at]),
  ]
}

function listRecordUses(
  operation: OperationName,
  map: AnswerMap,
  body: unknown,
  leaves: readonly string[],
): Use[] {
  const place = map.record.find((path) => path === '$' || !isAbsent(getAt(body, path))) ?? ''
  const prefix = place === '$' ? '' : `${place}.`
  const toPath = (path: string) => (path.startsWith('$.') ? path.slice(2) : `${prefix}${path}`)
  const select = (source: Place['source'], isThere: (value: unknown) => boolean): string[] => {
    if (typeof source === 'string') return isThere(getAt(body, toPath(source))) ? [toPath(source)] : []
    if ('asked' in source) return []
    if ('length' in source)
      return source.map((each) => select(each, isThere)).find((paths) => paths.length > 0) ?? []
    return source.join.flatMap((each) => select(each, isThere))
  }
  const isNumber = (field: string) => field === 'nin_number' || field === 'bvn_number'
  const mapped = listPlaces(operation, map).flatMap(({ field, source }) =>
    select(source, isNumber(field) ? (value) => !isAbsent(value) : isGiven).map((path) => ({
      path,
      for: field,
    })),
  )
  if (!map.same_fields) return mapped
  const fields = listLeaves(createBlankRecord(operation === 'bvn' ? 'bvn' : 'nin'), '')
  const same = fields.filter((field) => !NOT_MAPPED.includes(field.split('.').at(-1) as string))
  return [
    ...mapped,
    ...same.flatMap((field) => (leaves.includes(toPath(field)) ? [{ path: toPath(field), for: field }] : [])),
  ]
}

const MAX_DEPTH = 20

/** The paths of all values. An empty object or list is one, and so is a very deep one. */
function listLeaves(value: unknown, path: string, depth = 0): string[] {
  const entries =
    typeof value === 'object' && value !== null && depth < MAX_DEPTH ? Object.entries(value) : []
  if (entries.length === 0) return path === '' ? [] : [path]
  return entries.flatMap(([name, inner]) =>
    listLeaves(inner, path === '' ? name : `${path}.${name}`, depth + 1),
  )
}
