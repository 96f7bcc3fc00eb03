import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import { isVirtualNin, type PersonDetails } from '../../contract/person.ts'
import type { Kind } from '../../crypto/mac.ts'
import { toFields, toText } from '../record.ts'
import { isAboutNoPerson, refuseContradiction, statusError, TEXT_FIELDS } from '../reply.ts'
import type { Answer, Call, HttpReply, Send, Source, VendorDeps } from '../source.ts'
import { readLifetimeMs, readTokenText, requireTokenReply, withToken } from '../token.ts'
import { compileAnswer } from './answer.ts'
import { compileErrorText, compilePath, compileRules, ruleError } from './rules.ts'
import { DECOY, toSampleReply } from './sample-reply.ts'
import type { OperationName, VendorFile, VendorOperation, VendorRule } from './schema.ts'
import { compileRequest, createCallId, NO_QUESTION, type Question, type SettingValues } from './template.ts'

/** The vendor that a file describes. */
export function createFileSource(
  name: string,
  file: VendorFile,
  settings: SettingValues,
  { send, now = () => new Date() }: VendorDeps,
): Source {
  const sendWithToken = withTokenOf(name, file, settings, { send, now })
  const { nin, virtual_nin: virtualNin, bvn } = file.operations
  const find = (operation: OperationName) => {
    const { toRequest, read, toRule } = compileOperation(name, file, settings, operation)
    return async (
      number: string,
      { phone, details }: { readonly phone: string; readonly details?: PersonDetails | undefined },
      call: Call,
    ): Promise<Answer<NinRecord & BvnRecord>> => {
      const { reference } = call
      const question = { number, phone, details, reference, callId: createCallId(), at: now() }
      const reply = await sendWithToken(toRequest(question), call)
      call.onRule?.(toRule(reply, question))
      return read(reply, question).answer as Answer<NinRecord & BvnRecord>
    }
  }
  const findNin = nin && find('nin')
  const findVirtualNin = virtualNin && find('virtual_nin')
  const findBvn = bvn && find('bvn')
  return {
    name,
    isExternal: true,
    ...(findVirtualNin && { acceptsVirtualNin: true }),
    needsDetails: {
      nin: listNeeds(file, 'nin', settings),
      virtual_nin: listNeeds(file, 'virtual_nin', settings),
      bvn: listNeeds(file, 'bvn', settings),
    },
    samples: toSamples(file.samples),
    readDecoy: createDecoys(name, file),
    ...(findNin && {
      findNin: (query, call) =>
        (findVirtualNin && isVirtualNin(query.nin) ? findVirtualNin : findNin)(query.nin, query, call),
    }),
    ...(findBvn && { findBvn: (query, call) => findBvn(query.bvn, query, call) }),
  }
}

/** The number is that of the sample, whatever is missing in the file. */
function createDecoys(name: string, file: VendorFile): NonNullable<Source['readDecoy']> {
  const prepare = (kind: Kind) => {
    const map = file.answers[kind]
    const reply = toSampleReply(file, kind, 'found', DECOY)
    return map && { read: compileAnswer(name, kind, map), text: JSON.stringify(reply?.body) }
  }
  const decoys = { nin: prepare('nin'), bvn: prepare('bvn') }
  const question = { ...NO_QUESTION, number: DECOY.number, phone: DECOY.phoneCore }
  return (kind) => {
    const { read, text } = decoys[kind] as NonNullable<(typeof decoys)[Kind]>
    const body = JSON.parse(text)
    return { body, record: read(body, { ...question, details: DECOY_DETAILS }).record }
  }
}

const DECOY_DETAILS = { first_name: 'Ada', last_name: 'Obi', date_of_birth: '1990-01-05' }

const toSamples = ({ nin, virtual_nin: _, bvn, ...details }: NonNullable<VendorFile['samples']> = {}) => ({
  ...(nin !== undefined && { nin }),
  ...(bvn !== undefined && { bvn }),
  details,
})

/** What a reply means, and the rule that says so; undefined if the HTTP status does. */
type Reading = {
  readonly rule: VendorRule | undefined
  readonly answer: Answer<NinRecord | BvnRecord>
}

/** Builds the request of an operation, and reads its reply. */
export function compileOperation(
  name: string,
  file: VendorFile,
  settings: SettingValues,
  operation: OperationName,
) {
  const described = file.operations[operation]
  const map = file.answers[operation] ?? (operation === 'virtual_nin' ? file.answers.nin : undefined)
  if (!described || !map) throw new Error(`${name} has no operation ${operation}`)
  const toErrorText = compileErrorText(file)
  const toRule = compileRules(file.rules[map.rules] ?? [], { texts: file.texts, settings, toErrorText })
  const readRecord = compileAnswer(name, operation, map)
  const readReference = map.reference?.startsWith('$.') ? compilePath(map.reference.slice(2)) : undefined
  /** Throws a SourceError if the reply is no answer. */
  const read = (reply: HttpReply, question: Question): Reading => {
    const rule = toRule(reply, question)
    const outcome = rule?.then
    if (outcome === 'found') return { rule, answer: readRecord(reply.body, question) }
    const text = toErrorText(reply.body)
    if (rule && NO_RECORD.includes(rule.then)) refuseDoubtful(name, rule, reply, text)
    const reference = readReference?.(reply.body)
    const missing = { found: false as const, ...(reference !== undefined && { reference }) }
    if (outcome === 'not_found') {
      refuseContradiction(name, hasPerson(reply.body, question))
      return { rule, answer: missing }
    }
    if (outcome === 'watch_listed') return { rule, answer: { ...missing, watchlisted: true } }
    if (outcome === 'names_differ') return { rule, answer: { ...missing, namesDiffer: true } }
    throw ruleError(name, rule, reply, text)
  }
  /** Whether it has a name, the number and the phone that were asked for. An error may repeat the two numbers, but has no name. */
  const hasPerson = (body: unknown, question: Question): boolean => {
    const text = JSON.stringify(body) ?? ''
    if (!text.includes(question.number) || !text.includes(question.phone)) return false
    if (hasPersonAnywhere(body, question)) return true
    try {
      // Without the details that were sent: they are no answer.
      const { record } = readRecord(body, { ...question, details: undefined })
      const { first_name, last_name } = record.personal_info
      return first_name !== '' || last_name !== ''
    } catch {
      return false
    }
  }
  return { toRequest: compileRequest(described.request, settings, file.authentication), read, toRule }
}

/** A part with the number, the phone and a name that was not sent, also where no record is expected. */
function hasPersonAnywhere(body: unknown, { number, phone, details = {} }: Question): boolean {
  const sent = new Set(Object.values(details).map((text) => toText(text).toLowerCase()))
  const parts = [body]
  for (const part of parts) {
    const fields = Object.entries(toFields(part))
    const texts = fields.map(([, value]) => (typeof value === 'object' ? '' : String(value)))
    const hasName = fields.some(
      ([key, value]) => /name/i.test(key) && toText(value) !== '' && !sent.has(toText(value).toLowerCase()),
    )
    if (hasName && texts.includes(number) && texts.some((text) => text.includes(phone))) return true
    for (const [, value] of fields) if (typeof value === 'object') parts.push(value)
  }
  return false
}

const NO_RECORD: readonly string[] = ['not_found', 'watch_listed', 'names_differ']

/**
 * Some vendors have one code for all errors. Beside a status or a text that is about the account or the vendor, a code does not mean that
 * there is no such person.
 */
function refuseDoubtful(source: string, rule: VendorRule, { status, body }: HttpReply, text: string): void {
  if (rule.if.text) return
  const fields = toFields(body)
  const other = [text, ...TEXT_FIELDS.map((name) => toText(fields[name]))].find(isAboutNoPerson)
  if (other === undefined && status < 500 && !NOT_ABOUT_PERSON.includes(status)) return
  throw statusError(source, Math.max(status, 400), other)
}

const NOT_ABOUT_PERSON: readonly number[] = [401, 402, 403, 408, 429]

/** The details without which the vendor is passed over. */
export function listNeeds(file: VendorFile, operation: OperationName, settings: SettingValues) {
  const isNeeded = ({ unless = [] }: Need) =>
    !unless.some(({ setting, is, contains }) => {
      const value = String(settings[setting])
      return (is !== undefined && value === is) || (contains !== undefined && value.includes(contains))
    })
  return needsOf(file, operation)
    .filter(isNeeded)
    .map(({ detail }) => detail)
}

type Need = NonNullable<VendorOperation['needs']>[number]

/** What a look-up needs, whatever the settings are. A virtual NIN needs what a NIN needs, unless the file says otherwise. */
export function needsOf({ operations }: VendorFile, operation: OperationName): readonly Need[] {
  const inherited = operation === 'virtual_nin' ? operations.nin?.needs : undefined
  return operations[operation]?.needs ?? inherited ?? []
}

function withTokenOf(
  name: string,
  { authentication }: VendorFile,
  settings: SettingValues,
  { send, now }: VendorDeps,
): Send {
  const token = authentication?.token
  if (!token) return send
  const toRequest = compileRequest(token.request, settings, token.basic ? { basic: token.basic } : {})
  const getToken = compilePath(token.token_at)
  const getLifetime = token.lifetime_at === undefined ? undefined : compilePath(token.lifetime_at)
  return withToken(send, {
    source: name,
    now,
    header: token.header,
    prefix: token.prefix,
    fetchToken: async (call) => {
      const body = requireTokenReply(name, await send(toRequest(NO_QUESTION), call))
      return { text: readTokenText(name, getToken(body)), lifetimeMs: readLifetimeMs(getLifetime?.(body)) }
    },
  })
}
