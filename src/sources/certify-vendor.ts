import { randomInt } from 'node:crypto'
import { type PersonDetails, toLocalPhone } from '../contract/person.ts'
import { UserError } from '../errors.ts'
import { toAnswerShape } from './answer-shape.ts'
import { adviseRule, explainStep, STEPS, type Step, toVerdict, type Verdict } from './certify-verdict.ts'
import { openVendor } from './open-vendor.ts'
import { listRuleNames, toFileHash } from './proof-table.ts'
import { type Answer, type Call, type HttpReply, SourceError } from './source.ts'
import {
  explainError,
  makeOwnCall,
  PHONE,
  requireEnabled,
  requireVendor,
  type SourceDeps,
  toUnassignedNumber,
} from './source-control.ts'
import { listFieldPaths, listFieldsIn, listMemberNames } from './vendor-file/places.ts'
import type { OperationName, VendorFile, VendorRule } from './vendor-file/schema.ts'
import type { VendorInUse } from './vendors.ts'

/** A person who agreed to it. The number, the phone and the details are sent to the vendor, and kept nowhere. */
export type ConsentingPerson = {
  readonly number: string
  /** The ten-digit core. */
  readonly phone: string
  readonly details?: PersonDetails | undefined
}

/** What a step proved. Nothing in it is about the person. */
export type StepResult = {
  readonly step: Step
  readonly verdict: Verdict
  readonly explanation: string
  /** What Tabbat made of the answer; absent if no call was made, as are all members below. */
  readonly outcome?: string | undefined
  readonly http_status?: number | undefined
  /** The rule that decided; null if the HTTP status did. */
  readonly rule?: string | null | undefined
  /** The fields that had a value, if the step proved the record. */
  readonly fields?: readonly string[] | undefined
  /** See `toAnswerShape`. */
  readonly answer?: unknown
}

type CertifyDeps = SourceDeps & {
  /** Asks before each call. False leaves the step out. */
  readonly ask: (step: Step) => Promise<boolean>
  /** Called after each step, so that nothing is lost when the next one is interrupted. `advice` is for the terminal only. */
  readonly onStep: (result: StepResult, advice: string | undefined) => void
  readonly signal: AbortSignal
}

/** The file of a vendor and its settings. A vendor that is code has no rules to prove. */
export function requireFile({ vendors }: SourceDeps['config'], name: string) {
  requireVendor({ vendors }, name)
  const inUse = vendors[name] as VendorInUse
  const { loaded } = inUse.vendor
  if (loaded) return { inUse, file: loaded.file }
  throw new UserError(
    `${name} is part of the program and has no file. Try it with: tabbat sources check ${name}`,
  )
}

/** Goes through all steps. Each call obeys the kill switch and the daily cap, and is in the audit log before it is made. */
export async function certifyVendor(
  deps: CertifyDeps,
  name: string,
  operation: OperationName,
  person: ConsentingPerson,
): Promise<void> {
  const { inUse, file } = requireFile(deps.config, name)
  for (const step of STEPS) {
    const reason = findReasonToOmit(file, operation, step)
    if (reason !== undefined) {
      deps.onStep({ step, verdict: 'not_needed', explanation: reason }, undefined)
      continue
    }
    if (!(await deps.ask(step))) {
      deps.onStep({ step, verdict: 'left_out', explanation: 'No call was made.' }, undefined)
      continue
    }
    await requireEnabled(deps.store, name)
    const seen = await callVendor(deps, inUse, operation, toQuestion(step, operation, person, inUse))
    if (deps.signal.aborted) return
    report(deps, { file, operation, step, person }, seen)
  }
}

/** Why a step needs no call. */
export function findReasonToOmit(file: VendorFile, operation: OperationName, step: Step): string | undefined {
  if (step === 'wrong_phone' && !/\{phone(_234)?\}/.test(JSON.stringify(file.operations[operation]?.request)))
    return 'The vendor does not get the phone: Tabbat compares it with that of the record. A call would prove nothing more.'
  if (step === 'wrong_phone' && operation === 'virtual_nin') return 'A virtual NIN can be used once.'
  if (step === 'malformed_number' && operation === 'virtual_nin')
    return 'A number that is no virtual NIN is never sent as one.'
  return undefined
}

type VendorQuestion = ConsentingPerson & { readonly step: Step; readonly inUse: VendorInUse }

const OTHER_PERSON: PersonDetails = { first_name: 'Ada', last_name: 'Obi', date_of_birth: '1990-01-05' }

function toQuestion(
  step: Step,
  operation: OperationName,
  person: ConsentingPerson,
  inUse: VendorInUse,
): VendorQuestion {
  const unknown = operation === 'virtual_nin' ? `ZZ0${toUnassignedNumber()}ZZ` : toUnassignedNumber()
  const withoutPerson = { phone: PHONE, details: person.details && OTHER_PERSON, step, inUse }
  if (step === 'wrong_phone') return { ...person, phone: PHONE, step, inUse }
  if (step === 'unknown_number') return { ...withoutPerson, number: unknown }
  if (step === 'malformed_number') return { ...withoutPerson, number: String(randomInt(10_000, 100_000)) }
  // The number of the person is not sent with a secret that must fail.
  if (step === 'wrong_credentials')
    return { ...withoutPerson, number: unknown, inUse: withWrongSecret(inUse) }
  return { ...person, step, inUse }
}

/** A copy of the settings in which one secret is damaged. */
function withWrongSecret(inUse: VendorInUse): VendorInUse {
  const { vendor, values } = inUse
  const given = Object.entries(vendor.settings).filter(([key]) => typeof values[key] === 'string')
  const [key] =
    given.find(([, { secret, required }]) => secret && required) ??
    given.find(([, { secret }]) => secret) ??
    given.find(([name, { required }]) => required && name !== 'url') ??
    []
  if (key === undefined) throw new UserError('This vendor has no credentials that could be wrong.')
  return { ...inUse, values: { ...values, [key]: damage(String(values[key])) } }
}

/** Of the same length and alphabet, where possible. */
function damage(secret: string): string {
  const end = secret
    .slice(-4)
    .replaceAll(/[0-8A-Ya-y]/g, (character) => String.fromCodePoint((character.codePointAt(0) ?? 0) + 1))
  const damaged = `${secret.slice(0, -4)}${end}`
  return damaged === secret ? `${secret}0` : damaged
}

type Seen = {
  readonly answer?: Answer<unknown>
  readonly error?: SourceError
  readonly reply?: HttpReply | undefined
  /** Undefined if no look-up was answered, as when a token was refused. */
  readonly decided?: { readonly rule: VendorRule | undefined } | undefined
  readonly question: VendorQuestion
}

async function callVendor(
  { config, signal, ...deps }: CertifyDeps,
  { vendor: { name } }: VendorInUse,
  operation: OperationName,
  question: VendorQuestion,
): Promise<Seen> {
  const { number, phone, details, step, inUse } = question
  let reply: HttpReply | undefined
  let decided: Seen['decided']
  const source = await openVendor(name, {
    vendors: { ...config.vendors, [name]: inUse },
    allowPrivate: config.sourcesPrivate === 'on',
    onReply: (each) => {
      reply = each
    },
  })
  const run = async (limited: Call): Promise<Answer<unknown>> => {
    const call: Call = {
      ...limited,
      onRule: (rule) => {
        decided = { rule }
      },
    }
    const answer =
      operation === 'bvn'
        ? source.findBvn?.({ bvn: number, phone, details }, call)
        : source.findNin?.({ nin: number, phone, details }, call)
    if (!answer) throw new UserError(`${name} has no look-up of this kind.`)
    return answer
  }
  const kind = operation === 'bvn' ? 'bvn' : 'nin'
  const detail = `${name}; certification of ${operation}: ${step}`
  try {
    const answer = await makeOwnCall(deps, { source: name, detail, kind }, run, signal)
    return { answer, reply, decided, question }
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return { error, reply, decided, question }
  } finally {
    await source.close?.()
  }
}

type StepFacts = {
  readonly file: VendorFile
  readonly operation: OperationName
  readonly step: Step
  readonly person: ConsentingPerson
}

function report({ onStep }: CertifyDeps, { file, operation, step, person }: StepFacts, seen: Seen): void {
  const { reply, decided, error } = seen
  const outcome = toOutcome(seen)
  const verdict = toVerdict(step, outcome)
  const facts = { step, outcome, verdict, otherwise: error ? explainError(error) : '' }
  const isProvedRecord = verdict === 'proved' && step === 'found'
  const result: StepResult = {
    step,
    verdict,
    explanation: explainStep(facts),
    outcome,
    http_status: reply?.status,
    rule: decided && (decided.rule?.name ?? null),
    fields: isProvedRecord ? listFieldsIn(file, operation, reply?.body) : undefined,
    answer:
      reply &&
      toAnswerShape(reply.body, { known: listMemberNames(file), personal: listPersonal(person, seen) }),
  }
  onStep(result, reply && adviseRule(facts, reply, { file, number: seen.question.number }))
}

/** What Tabbat made of the answer: how the search would go on. */
function toOutcome({ answer, error, question }: Seen): string {
  if (error) return error.problem ?? error.reason
  if (!answer?.found) {
    if (answer?.namesDiffer) return 'names_differ'
    return answer?.watchlisted ? 'watch_listed' : 'not_found'
  }
  const { phone_number, phone_number_2 } = (answer.record as { personal_info: Phones }).personal_info
  const wanted = toLocalPhone(question.phone)
  return phone_number === wanted || phone_number_2 === wanted ? 'found' : 'other_phone'
}

type Phones = { readonly phone_number?: string; readonly phone_number_2?: string | null }

/** Texts of the person, which could also be the name of a member. */
function listPersonal({ number, phone, details = {} }: ConsentingPerson, { answer }: Seen): string[] {
  const info = answer?.found ? (answer.record as { personal_info?: object }).personal_info : {}
  return [number, phone, ...Object.values(details), ...Object.values(info ?? {})]
    .filter((value) => typeof value === 'string')
    .flatMap((value) => [value, ...value.split(/\s+/)])
    .filter((text) => text.length > 1)
}

type Certification = {
  readonly name: string
  readonly file: VendorFile
  readonly inUse: VendorInUse
  readonly operation: OperationName
  /** Of Tabbat. */
  readonly version: string
  readonly steps: readonly StepResult[]
  readonly isComplete: boolean
  readonly at: Date
}

/** The report, which can be sent to others: see docs/sources.md. */
export function toCertifyReport({ name, file, inUse, operation, steps, at, ...rest }: Certification) {
  const proofs = steps.filter(({ verdict }) => verdict === 'proved')
  const rules = listRuleNames(file, operation)
  const fields = listFieldPaths(file, operation).map(({ field }) => field)
  const isRuleProved = (rule: string) => proofs.some((step) => step.rule === rule)
  const isFieldProved = (field: string) => proofs.some((step) => step.fields?.includes(field))
  return {
    format: 'tabbat-certify',
    format_version: 1,
    vendor: name,
    operation,
    file: inUse.vendor.loaded?.path === undefined ? 'built in' : 'of the operator',
    file_hash: toFileHash(file),
    address: inUse.url === file.address ? 'of the file' : 'another',
    documents_read: file.documentation.read,
    tabbat_version: rest.version,
    date: at.toISOString(),
    complete: rest.isComplete,
    proved: { rules: rules.filter(isRuleProved), fields: fields.filter(isFieldProved) },
    not_proved: {
      rules: rules.filter((rule) => !isRuleProved(rule)),
      fields: fields.filter((field) => !isFieldProved(field)),
    },
    contradictions: steps.flatMap(({ step, verdict, explanation }) =>
      verdict === 'contradicts' ? [{ step, explanation }] : [],
    ),
    steps: steps.map(({ fields: _, ...step }) => step),
  }
}
export type CertifyReport = ReturnType<typeof toCertifyReport>
